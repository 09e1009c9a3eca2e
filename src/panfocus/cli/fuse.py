"""`panfocus fuse`: frames in, one sharp picture out."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from panfocus.cli._console import Console, Debug, Force, Output, Quiet, Threads, console, usage_errors
from panfocus.cli._memory import estimate_peak, format_size, parse_size
from panfocus.cli._outputs import Outputs
from panfocus.errors import InputError

if TYPE_CHECKING:
    from panfocus.methods import FusionMethod
    from panfocus.stack import Stack


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
        Path | None, typer.Option(help="Write which frame each pixel is from, counted from 0 (PNG).")
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
        str | None, typer.Option(metavar="SIZE", help="Do not begin if more would be needed, such as 2GB.")
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
    with console(quiet=quiet, debug=debug) as terminal:
        from panfocus import pipeline
        from panfocus.io.files import check_destination, write_files
        from panfocus.io.read import find_inputs, read_stack
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
            n_frames = _count_frames(paths)
        for path in outputs.paths().values():
            check_destination(path, force=force, inputs=[*paths, dictionary] if dictionary else paths)
        demands = {"refine": refinement["refine"], "n_atoms": _count_atoms(chosen)}
        if memory_limit is not None:
            _check_memory(paths[0], n_frames, memory_limit, **demands)
        stack = read_stack(paths)
        check_format(output, stack.frames[0])
        if dry_run:
            _describe(terminal, stack, **demands)
            terminal.say(f"by the method {method} ({_listed(vars(chosen) | refinement)})")
            terminal.say(f"into {outputs}")
            return
        result = pipeline.fuse(
            stack.frames, method, threads=threads, progress=terminal.progress, **refinement, **options
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


def _count_frames(paths: Sequence[Path]) -> int:
    from panfocus.io.read import read_headers

    n_frames = len(read_headers(paths))
    if n_frames < 2:
        raise InputError(f"fusion needs at least two frames, got only {paths[0]}")
    return n_frames


def _count_atoms(method: "FusionMethod") -> int:
    """Count the atoms of all levels of a method's dictionary, if it has one."""
    dictionary = getattr(method, "dictionary", None)
    return dictionary.n_levels * dictionary.n_atoms if dictionary else 0


def _check_memory(first: Path, n_frames: int, limit: int, **demands: Any) -> None:
    """Refuse by the size of the first frame, before all of them are in memory."""
    from panfocus.io.read import read_image

    needed = estimate_peak(n_frames, read_image(first), **demands)
    if needed > limit:
        raise InputError(
            f"about {format_size(needed)} of memory would be needed, more than the {format_size(limit)} "
            "of --max-memory; use fewer or smaller frames"
        )


def _describe(terminal: Console, stack: "Stack", **demands: Any) -> None:
    needed = format_size(estimate_peak(len(stack.frames), stack.frames[0], **demands))
    terminal.say(f"would fuse {_frames(stack)}, {stack.frames.dtype.name}, with about {needed} of memory:")
    for name in stack.names:
        terminal.say(f"  {name}")


def _summarise(terminal: Console, stack: "Stack", report: dict[str, Any]) -> None:
    for notice in stack.notices:
        terminal.say(notice)
    said = [f"fused {_frames(stack)} in {report['seconds']:.1f} s"]
    if shares := report.get("frame_shares"):
        said.append(f"from each: {', '.join(f'{share:.1%}' for share in shares)}")
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


def _frames(stack: "Stack") -> str:
    n_frames, height, width = stack.frames.shape[:3]
    return f"{n_frames} frames of {width} x {height}"


def _listed(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
