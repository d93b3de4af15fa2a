"""One file per version, named by its number."""
