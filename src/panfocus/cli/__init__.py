"""The command `panfocus`, one file per command.

Heavy imports happen inside the commands, so that --help answers at once.
"""

import io
import sys
from typing import Annotated

import typer

from panfocus.cli import compare, demo, dictionary, doctor, fuse, learn, score
from panfocus.cli._console import FAILED, complain

app = typer.Typer(
    name="panfocus",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    rich_markup_mode=None,  # the framed help takes twice as long to appear
    pretty_exceptions_enable=False,
)
for command in (
    fuse.fuse,
    learn.learn,
    dictionary.dictionary,
    score.score,
    compare.compare,
    demo.demo,
    doctor.doctor,
):
    app.command()(command)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """One picture that is sharp everywhere, from frames that are sharp somewhere."""
    if version:
        from panfocus import __version__

        typer.echo(f"panfocus {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; a mistake in it is one line and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file's name may be no text; stderr replaces what it cannot print anyway.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.exit(app(standalone_mode=False))
    except KeyboardInterrupt:  # before a command has begun; from then on it has a console to say so
        complain("interrupted; nothing was written")
        sys.exit(FAILED)
    except typer.TyperException as error:
        complain(f"{error.format_message()} (see --help)")
        sys.exit(error.exit_code)
