"""A fusion from files to files: what is asked for, checked, planned, done and written, for any front end."""
