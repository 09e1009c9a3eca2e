"""`python -m panfocus`."""

from panfocus.cli import main

main()
