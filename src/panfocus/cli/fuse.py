"""`panfocus fuse`: frames in, one sharp picture out."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from panfocus._progress import silent
from panfocus.cli._allocator import keep_freed_memory
from panfocus.cli._console import Console, Debug, Force, Output, Quiet, Threads, console, usage_errors
from panfocus.cli._memory import format_size, parse_size
from panfocus.cli._outputs import Outputs
from panfocus.cli._plan import Plan, make_plan
from panfocus.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from panfocus.io.read import Header
    from panfocus.io.scratch import ScratchFrames
    from panfocus.stack import Frames, Stack


def fuse(
    *,
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT", help="Files, folders, patterns, multi-page TIFFs.")
    ],
    output: Output,
    method: Annotated[str | None, typer.Option(help="Name of the method; by default: panfocus.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method, such as w=0.6; repeats."),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Dictionary to use in place of the method's own: a file, or a shipped one's name.",
        ),
    ] = None,
    align: Annotated[str, typer.Option(help="Registration; this version has only: off.")] = "off",
    refine: Annotated[
        bool, typer.Option("--refine", help="Smooth the fused image by total variation.")
    ] = False,
    refine_strength: Annotated[
        float | None,
        typer.Option(help="How much to smooth, on unit-range values: larger is smoother. Implies --refine."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Write which frame is sharpest at each pixel, counted from 0 (PNG).")
    ] = None,
    confidence: Annotated[
        Path | None, typer.Option(help="Write how sure that is, 0 to 1 (16-bit PNG or float TIFF).")
    ] = None,
    depth: Annotated[
        Path | None, typer.Option(help="Write where in the stack each pixel is sharpest (float TIFF).")
    ] = None,
    never_in_focus: Annotated[
        Path | None, typer.Option(help="Write what is sharp in no frame, 255 there and 0 elsewhere (PNG).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write settings and measurements of the run (JSON).")
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Most memory to use, such as 2GB; by default up to a quarter of what is free.",
        ),
    ] = None,
    threads: Threads = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would be done, write nothing.")
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Fuse frames of one scene into one sharp picture.

    The frames are focused at different depths, and registered. Nothing is overwritten without --force.
    """
    keep_freed_memory()
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus import pipeline
        from panfocus._checks import blank
        from panfocus._threads import limit_threads
        from panfocus.io.files import check_destination, write_files
        from panfocus.io.read import check_headers, find_inputs, read_headers, read_into
        from panfocus.io.scratch import check_room
        from panfocus.io.write import check_format
        from panfocus.methods import DEFAULT_METHOD, get_method

        outputs = Outputs(
            image=output,
            labels=labels,
            confidence=confidence,
            depth=depth,
            never_in_focus=never_in_focus,
            report=report,
        )
        method = method or DEFAULT_METHOD
        with usage_errors():
            outputs.check_names()
            options = _method_options(method, settings or [], dictionary)
            chosen = get_method(method, **options)
            outputs.check_maps(method, chosen.maps)
            refinement = _refine_options(refine, refine_strength)
            _check_align(align)
            memory_limit = None if max_memory is None else parse_size(max_memory)
            paths = find_inputs(inputs)
            headers = read_headers(paths)
            if len(headers) < 2:
                raise InputError(f"fusion needs at least two frames, got only {paths[0]}")
        for path in outputs.paths().values():
            check_destination(path, force=force, inputs=[*paths, dictionary] if dictionary else paths)
        check_headers(headers)
        first = headers[0].frame.image
        check_format(output, first)
        like_frames = blank((len(headers), *first.shape), first.dtype)
        with limit_threads(threads):
            plan = make_plan(
                method,
                chosen,
                like_frames,
                maps=outputs.maps(),
                refine=refinement["refine"],
                max_memory=memory_limit,
            )
            if not plan.in_memory:
                check_room(like_frames.nbytes)
            if dry_run:
                _describe(terminal, plan, headers, like_frames)
                terminal.say(f"by the method {method} ({_listed(vars(chosen) | refinement)})")
                terminal.say(f"into {outputs}")
                return
            with _room_for(like_frames, in_memory=plan.in_memory) as frames:
                stack = read_into(
                    frames,
                    headers,
                    at_once=plan.decoded_at_once,
                    progress=silent if plan.in_memory else terminal.progress,
                )
                result = pipeline.fuse(
                    stack.frames,
                    method,
                    threads=threads,
                    max_memory=plan.tile_memory,
                    maps=outputs.maps(),
                    progress=terminal.progress,
                    **refinement,
                    **options,
                )
            contents = outputs.encode(result, stack)
        terminal.finish()
        write_files(contents, force=force)
        _summarise(terminal, stack, result.report)
        terminal.say(f"wrote {outputs}")


def _method_options(method: str, typed: Sequence[str], dictionary: Path | None) -> dict[str, Any]:
    """Return the settings that were typed, in the types of the method."""
    from panfocus.methods import parse_settings, setting_names

    texts = {}
    for setting in typed:
        name, equals, value = setting.partition("=")
        if not equals or name == "dictionary":
            raise InputError(f"--set {setting}: needed is NAME=VALUE; a dictionary is given by --dictionary")
        texts[name] = value
    if dictionary:
        if "dictionary" not in setting_names(method):
            raise InputError(f"--dictionary {dictionary}: the method {method} takes none")
        texts["dictionary"] = str(dictionary)
    return parse_settings(method, texts)


def _refine_options(refine: bool, strength: float | None) -> dict[str, Any]:
    if strength is None:
        return {"refine": refine}
    if not 0 <= strength < math.inf:
        raise InputError(f"--refine-strength must be a number from 0 upwards, got {strength}")
    return {"refine": True, "refine_strength": strength}


def _check_align(align: str) -> None:
    if align != "off":
        raise InputError(f"--align {align}: this version does not align; register the frames beforehand")


def _room_for(
    like: "NDArray[Any]", *, in_memory: bool
) -> "AbstractContextManager[NDArray[Any] | ScratchFrames]":
    """Have a place for frames like these, while the block lasts."""
    import numpy as np

    from panfocus.io.scratch import scratch_frames

    if in_memory:
        return nullcontext(np.empty(like.shape, like.dtype))
    return scratch_frames(like.shape, like.dtype)


def _describe(
    terminal: Console, plan: Plan, headers: "Sequence[Header]", like_frames: "NDArray[Any]"
) -> None:
    from panfocus.io.scratch import scratch_folder

    kind = f"{_frames(like_frames)}, {like_frames.dtype.name}"
    terminal.say(f"would fuse {kind}, with about {format_size(plan.memory)} of memory:")
    for header in headers:
        terminal.say(f"  {header.name}")
    size = format_size(like_frames.nbytes)
    terminal.say(
        f"held in memory, {size}"
        if plan.in_memory
        else f"kept in a scratch file in {scratch_folder()}, {size}"
    )
    if plan.side:
        terminal.say(f"in tiles of at most {plan.side} x {plan.side} pixels")
    if plan.seconds:
        terminal.say(f"in about {_duration(plan.seconds)}")


def _duration(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 120 else f"{round(seconds / 60)} min"


def _summarise(terminal: Console, stack: "Stack", report: dict[str, Any]) -> None:
    for notice in stack.notices:
        terminal.say(notice)
    said = [f"fused {_frames(stack.frames)} in {report['seconds']:.1f} s"]
    if shares := report.get("frame_shares"):
        said.append(f"sharpest in each: {', '.join(f'{share:.1%}' for share in shares)}")
    if unfocused := report.get("never_in_focus_share"):
        said.append(f"never in focus: {f'{unfocused:.1%}' if unfocused >= 0.001 else 'under 0.1%'}")
    terminal.say("; ".join(said))
    if refined := report.get("refine"):
        terminal.say(
            f"refined with strength {refined['strength']:g}, which changed {refined['changed_share']:.1%} "
            f"of the values, by {refined['largest_change']:.2g} of full scale at most"
            + (
                ""
                if refined["changed_share"]
                else "; a larger --refine-strength, such as 0.01, smooths visibly"
            )
        )


def _frames(frames: "Frames") -> str:
    n_frames, height, width = frames.shape[:3]
    return f"{n_frames} frames of {width} x {height}"


def _listed(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
