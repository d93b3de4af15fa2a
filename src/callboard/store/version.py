"""The version of the tables that this Callboard makes and reads."""

HEAD = "0002"
