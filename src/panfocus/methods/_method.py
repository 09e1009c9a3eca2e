"""What a fusion method is, what it returns, and how one is found by name."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Collection, Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar, Protocol, runtime_checkable

from numpy.typing import NDArray

from panfocus.errors import InputError
from panfocus.methods._tile import Tile
from panfocus.result import FusionResult
from panfocus.stack import Frames

DEFAULT_METHOD = "panfocus"

_BUILT_IN = {
    "coupled": "panfocus.methods.coupled:Coupled",
    "dsift": "panfocus.methods.dsift:DSIFT",
    "dwt": "panfocus.methods.dwt:DWT",
    "panfocus": "panfocus.methods.panfocus:PanFocus",
    "pca": "panfocus.methods.pca:PCA",
    "sr-cm": "panfocus.methods.sr_cm:SrCm",
    "sr-fm": "panfocus.methods.sr_fm:SrFm",
    "sr-ksvd": "panfocus.methods.sr_ksvd:SrKsvd",
}


class FusionMethod(Protocol):
    """A frozen dataclass whose fields are its settings, each with `metadata={"help": ...}`."""

    maps: ClassVar[tuple[str, ...]]  # which maps of the FusionResult this method gives
    # By itself, for one tile, whose frames it reads in parts; else tiles are fused beside each other.
    uses_all_threads: ClassVar[bool]

    @property
    def halo(self) -> int | None:
        """Pixels around a tile that decide what is in it; None if all of the image does."""
        ...

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Bytes that `fuse` works with at its peak, for a tile.

        The frames are not among them, its result is. Measured with frames of 8 bit, and rounded up.
        """
        ...

    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse a tile from frames (n, h, w) or (n, h, w, c) of its outer part; return its inner part.

        The caller has checked the frames: two or more, finite, of one kind. A method without a halo is
        given the whole image. One with a halo runs on one thread, many tiles beside each other, unless it
        says that it uses all threads: then frames may lie on disk, and be indexed only by a frame, or all of
        them, and a rectangle. Its report does not depend on the tile.
        """
        ...


@runtime_checkable
class Surveyor(Protocol):
    """A method that must know something of the whole frames before it can fuse a tile of them."""

    survey_bytes: int  # that `survey` works with at its peak, per pixel of a frame, whatever their number

    def foreseen(self, shape: tuple[int, int]) -> tuple[FusionMethod, FusionMethod]:
        """Return what `survey` does for most frames (h, w), and what it does at the worst: for plans.

        At the worst the halo is the largest, and so is the memory that a tile takes.
        """
        ...

    def survey(self, frames: Frames) -> FusionMethod:
        """Return the method as it is for these frames, which it takes up one at a time.

        Beside settings it holds `measured`, plain numbers by name.
        """
        ...

    def surveyed(self, measured: dict[str, Any]) -> FusionMethod:
        """Return what `survey` returned when it measured this: for tiles that others fuse."""
        ...


@runtime_checkable
class Layered(Protocol):
    """A method that tells more if it is asked: layers, with a plane for each frame, of 4 bytes at most."""

    @property
    def layers(self) -> tuple[str, ...]:
        """Which of the FusionResult it can tell: those of `votes`, `log_odds`."""
        ...

    def fuse(self, frames: Any, tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse a tile, and return these layers too."""
        ...


def method_names() -> list[str]:
    """Every method that `get_method` knows, also those that other packages register."""
    return sorted(_known())


def method_class(name: str) -> type[FusionMethod]:
    """Look up the class of a method; its dataclass fields are the method's settings."""
    known = _known()
    if name not in known:
        raise InputError(f"unknown method {name!r}; known: {', '.join(sorted(known))}")
    module, _, attribute = known[name].partition(":")
    found: type[FusionMethod] = getattr(import_module(module), attribute)
    return found


def setting_names(name: str) -> list[str]:
    """Return the settings of a method, in their order."""
    return [f.name for f in dataclasses.fields(method_class(name))]  # type: ignore[arg-type]  # a dataclass


def get_method(name: str, /, **settings: Any) -> FusionMethod:
    """Make a method with these settings; a misspelt setting is an error."""
    cls, known = method_class(name), setting_names(name)
    for setting in settings:
        if setting not in known:
            raise InputError(
                f"method {name!r} has no setting {setting!r}; known: {', '.join(known) or 'none'}"
            )
    return cls(**settings)


def parse_assignments(texts: Iterable[str]) -> dict[str, str]:
    """Split settings typed as `NAME=VALUE` into names and texts. No setting may be given twice."""
    assigned: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise InputError(
                f"A setting must be written NAME=VALUE, got {text!r}.", setting="settings", got=text
            )
        if name in assigned:
            raise InputError(f"The setting {name} is given twice.", setting=name, got=text)
        assigned[name] = value
    return assigned


def parse_settings(name: str, texts: dict[str, str]) -> dict[str, Any]:
    """Turn settings typed as text (`{"w": "0.6"}`) into the types of the method's fields.

    The text of a dictionary is the name of one that comes with panfocus, or that of a file.
    """
    types_of = typing.get_type_hints(method_class(name))
    parsed = {}
    for setting, text in texts.items():
        try:
            parsed[setting] = _parse(text, types_of.get(setting, str))
        except InputError:  # a dictionary, which says itself what is wrong
            raise
        except ValueError:
            raise InputError(f"setting {setting}={text}: not a {_type_name(types_of[setting])}") from None
    return parsed


def _known() -> dict[str, str]:
    return _BUILT_IN | _registered()


@cache  # it goes through every installed package
def _registered() -> dict[str, str]:
    return {entry.name: entry.value for entry in entry_points(group="panfocus.methods")}


def _parse(text: str, kind: Any) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    if kind in (int, float):
        return kind(text)
    from panfocus.dictionary import CoupledDictionary  # here: most methods do without, and it loads compilers

    return CoupledDictionary.find(text) if kind is CoupledDictionary else text


def _type_name(kind: Any) -> str:
    return {int: "whole number", float: "number", bool: "truth value (true or false)"}.get(kind, str(kind))
