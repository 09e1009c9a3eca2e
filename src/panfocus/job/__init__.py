"""A fusion from files to files, as every front end runs it."""
