"""`panfocus align`: align the frames of a stack and write them."""

from typing import Annotated

import typer

from panfocus.cli import _options as options
from panfocus.cli._console import console, count, elapsed


def align(
    *,
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT", help=options.INPUT_HELP)],
    output: options.OutputFolder,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Transform: auto (the simplest that fits), shift, similarity, affine or homography.",
        ),
    ] = "auto",
    reference: options.Reference = None,
    borders: options.Borders = "full",
    skip_bad: options.SkipBad = False,
    threads: options.Threads = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Align the frames of a stack.

    Each frame keeps its name and bit depth. TIFF and float frames are written as TIFF, others as PNG.
    """
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus.job.align_files import REPORT, align_files
        from panfocus.job.summary import describe_no_alignment

        done = align_files(
            inputs,
            output,
            model=model,
            reference=reference,
            borders=borders,
            skip_bad=skip_bad,
            threads=threads,
            force=force,
            progress=terminal.progress,
            before_commit=terminal.finish,
        )
        for warning in done.warnings:
            terminal.warn(warning)
        for notice in done.notices:
            terminal.say(notice)
        if done.model == "none":
            terminal.say(describe_no_alignment(*done.size))
        terminal.say(f"Wrote {count(len(done.frames), 'frame')} and {REPORT} to {output} {elapsed()}")
