"""The commands, put together."""

from typing import Annotated

import typer

from panfocus.cli import align, app, batch, compare, demo, dictionary, doctor, fuse, learn, reproduce, score

commands = typer.Typer(
    name="panfocus",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    rich_markup_mode=None,  # the framed help takes twice as long to appear
    pretty_exceptions_enable=False,
)
for command in (
    fuse.fuse,
    batch.batch,
    align.align,
    learn.learn,
    dictionary.dictionary,
    score.score,
    compare.compare,
    reproduce.reproduce,
    demo.demo,
    doctor.doctor,
):
    commands.command()(command)
commands.command("app")(app.page)


@commands.callback(invoke_without_command=True)
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
