"""Check the error line of a command."""


def assert_error_line(err, *names):
    """Check that stderr is one line of the command that mentions these files, options or numbers."""
    (line,) = err.splitlines()
    assert line.startswith("panfocus: ")
    assert [name for name in names if str(name) not in line] == [], line
