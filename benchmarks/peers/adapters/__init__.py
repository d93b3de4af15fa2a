"""One module per framework, each with a `PEER`; it imports what that framework's users import."""
