"""The table of commands."""

from functools import partial
from typing import Annotated

import typer

from panfocus.cli import align, app, batch, compare, dictionary, doctor, fuse, reproduce, score
from panfocus.cli._wording import running

commands = typer.Typer(
    name="panfocus",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    rich_markup_mode=None,  # framed help takes twice as long to appear
    pretty_exceptions_enable=False,
)
for command in (
    fuse.fuse,
    batch.batch,
    align.align,
    dictionary.learn,
    dictionary.dictionary,
    score.score,
    compare.compare,
    reproduce.reproduce,
    fuse.demo,
    doctor.doctor,
):
    commands.command()(command)
commands.command("app")(app.page)


@commands.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Fuse a focus stack into one image that is sharp everywhere."""
    context.call_on_close(partial(running.reset, running.set(context.invoked_subcommand)))
    if version:
        from panfocus import __version__

        typer.echo(f"panfocus {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
