"""READ and WRITE: the only folder that opens a path."""
