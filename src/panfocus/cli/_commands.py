"""The table of commands."""

from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from panfocus.cli import align, app, batch, compare, dictionary, doctor, fuse, reproduce, score
from panfocus.cli._wording import running


class _Command(TyperCommand):
    """A command whose help shows its arguments without braces and Python types, such as <list[str]>."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            params = (param for param in self.get_params(ctx) if param.param_type_name == kind)
            records = [record for param in params if (record := param.get_help_record(ctx))]
            if kind == "argument":
                records = [(name.partition(" <")[0], text) for name, text in records]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


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
    commands.command(cls=_Command)(command)
commands.command("app", cls=_Command)(app.page)


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
