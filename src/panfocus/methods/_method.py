"""Base class of fusion methods, and the registry of methods by name."""

from __future__ import annotations

import dataclasses
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
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
    "log-energy": "panfocus.methods.log_energy:LogEnergy",
    "max-projection": "panfocus.methods.projection:MaxProjection",
    "min-projection": "panfocus.methods.projection:MinProjection",
    "panfocus": "panfocus.methods.panfocus:PanFocus",
    "pca": "panfocus.methods.pca:PCA",
    "sr-cm": "panfocus.methods.choose_max:SrCm",
    "sr-fm": "panfocus.methods.sr_fm:SrFm",
    "sr-ksvd": "panfocus.methods.choose_max:SrKsvd",
    "variance": "panfocus.methods.variance:Variance",
}


class FusionMethod(ABC):
    """Base class of fusion methods: frozen dataclasses whose fields are their settings.

    Each field has `metadata={"help": ...}`. A minimal method defines `maps` and `fuse`; the other members
    have defaults, which fuse the whole image at once.
    """

    maps: ClassVar[tuple[str, ...]] = ()
    """Maps of the FusionResult that `fuse` returns, out of labels, confidence, depth, never_in_focus."""

    uses_all_threads: ClassVar[bool] = False
    """True if `fuse` runs on all threads and reads the frames in parts; else tiles are fused in parallel."""

    @property
    def halo(self) -> int | None:
        """Pixels around a tile that its result depends on; None if it depends on the whole image."""
        return None

    def working_bytes(self, n_frames: int, n_channels: int, tile: Tile) -> int:
        """Return the peak memory of `fuse` for a tile of 8-bit frames, with its result, without the frames.

        The default allows for two copies of all frames in float64.
        """
        return (32 + 16 * n_frames * n_channels) * tile.pixels

    @abstractmethod
    def fuse(self, frames: NDArray[Any], tile: Tile) -> FusionResult:
        """Fuse frames (n, h, w) or (n, h, w, c) of a tile's outer part; return the result for its inner part.

        The frames have been checked: at least two, finite, of one shape and type. A method without a halo
        gets the whole image. With `uses_all_threads` the frames may be on disk: index them by one frame (or
        all) and a rectangle. The report must not depend on the tile.
        """


@runtime_checkable
class Surveyor(Protocol):
    """A method that must measure the whole frames before it can fuse a tile of them."""

    survey_bytes: int  # peak memory of `survey` per pixel of a frame, for any number of frames

    def plan_surveys(self, shape: tuple[int, int]) -> tuple[FusionMethod, FusionMethod]:
        """Return the results of `survey` for typical frames (h, w) and for the worst case, for planning.

        The worst case has the largest halo and memory use.
        """
        ...

    def survey(self, frames: Frames) -> FusionMethod:
        """Return the method adapted to these frames, which are read one at a time.

        Its attribute `measured` is a dict of plain numbers.
        """
        ...

    def from_measurements(self, measured: dict[str, Any]) -> FusionMethod:
        """Return the method that `survey` returned with these measurements, for tiles fused elsewhere."""
        ...


@runtime_checkable
class Layered(Protocol):
    """A method that can also return layers: one plane per frame, of at most 4 bytes per pixel."""

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the available layers: votes, log_odds."""
        ...

    def fuse(self, frames: Any, tile: Tile, layers: Collection[str] = ()) -> FusionResult:
        """Fuse a tile, and return these layers too."""
        ...


def method_names() -> list[str]:
    """Return the names of all methods, built in and registered by other packages."""
    return sorted(_known())


def method_class(name: str) -> type[FusionMethod]:
    """Return the class of a method; its dataclass fields are the method's settings."""
    known = _known()
    if name not in known:
        raise InputError(
            f"Unknown method {name!r}. Known methods: {', '.join(sorted(known))}.",
            setting="method",
            got=name,
            known=sorted(known),
        )
    module, _, attribute = known[name].partition(":")
    cls: type[FusionMethod] = getattr(import_module(module), attribute)
    return cls


def setting_names(name: str) -> list[str]:
    """Return the names of a method's settings, in their order."""
    return [f.name for f in dataclasses.fields(method_class(name))]  # type: ignore[arg-type]  # a dataclass


def get_method(name: str, /, **settings: Any) -> FusionMethod:
    """Create a method with these settings; raise if a setting is unknown."""
    cls, known = method_class(name), setting_names(name)
    for setting in settings:
        if setting not in known:
            raise InputError(
                f"The method {name} has no setting {setting!r}. "
                f"Known settings: {', '.join(known) or 'none'}.",
                method=name,
                setting=setting,
                known=known,
            )
    return cls(**settings)


def parse_assignments(texts: Iterable[str]) -> dict[str, str]:
    """Split settings typed as `NAME=VALUE` into names and texts. No setting may be given twice."""
    assigned: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise InputError(
                f"`settings` must be written NAME=VALUE, got {text!r}.", setting="settings", got=text
            )
        if name in assigned:
            raise InputError(f"The setting {name} is given twice.", setting=name, got=text)
        assigned[name] = value
    return assigned


def parse_settings(name: str, texts: dict[str, str]) -> dict[str, Any]:
    """Convert settings typed as text, such as `{"w": "0.6"}`, to the types of the method's fields.

    The text of a dictionary is a file name, or the name of a dictionary that is shipped with panfocus.
    """
    types_of = typing.get_type_hints(method_class(name))
    return {setting: _parse(setting, text, types_of.get(setting, str)) for setting, text in texts.items()}


def _known() -> dict[str, str]:
    return _BUILT_IN | _registered()


@cache  # searches every installed package
def _registered() -> dict[str, str]:
    return {entry.name: entry.value for entry in entry_points(group="panfocus.methods")}


def _parse(setting: str, text: str, kind: Any) -> Any:
    if kind in _PARSERS:
        needed, parse = _PARSERS[kind]
        try:
            return parse(text)
        except (KeyError, ValueError):
            raise InputError(
                f"`{setting}` must be a {needed}, got {text!r}.", setting=setting, got=text, needed=needed
            ) from None
    from panfocus.dictionary import CoupledDictionary  # lazy: it imports compiled kernels

    return CoupledDictionary.find(text) if kind is CoupledDictionary else text


_PARSERS: dict[Any, tuple[str, Callable[[str], Any]]] = {
    int: ("whole number", int),
    float: ("number", float),
    bool: ("truth value (true or false)", lambda text: {"true": True, "false": False}[text.lower()]),
}
