"""The command, in this process."""

import sys
from collections import namedtuple

import pytest

from panfocus.cli import main

Ran = namedtuple("Ran", "code out err")


@pytest.fixture
def run(monkeypatch, capfd):
    """Run the command line."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["panfocus", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capfd.readouterr()
        return Ran(exit_.value.code or 0, captured.out, captured.err)

    return run
