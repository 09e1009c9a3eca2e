"""`CoupledDictionary`: focused and blurred atoms that belong together, or focused ones alone."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.resources import as_file, files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus._intensity import FloatArray, IntensityScale
from panfocus._progress import Progress, silent
from panfocus.dictionary.ksvd import learn_ksvd
from panfocus.dictionary.learning import (
    Learning,
    Round,
    Start,
    WatchRound,
    learn_coupled,
    unwatched_round,
)
from panfocus.dictionary.training import MIN_CONTRAST, sample_patches
from panfocus.errors import InputError
from panfocus.io.dictionary_file import describe_sizes, read_dictionary_file, write_dictionary_file

DEFAULT_NAMES = ("levels2", "levels3", "ksvd", "focus-maps")

Images = Sequence[FloatArray] | NDArray[Any]


@dataclass(frozen=True, eq=False)
class CoupledDictionary:
    """Dictionaries whose atoms correspond, from focused to most blurred; one alone is what K-SVD learns.

    Attributes
    ----------
    levels : array (n_levels, patch_size**2, n_atoms), float32
        Unit atoms as columns; `levels[0]` is D_F of the paper, `levels[1]` its D_B.
    origin : str
        What it was learned from, in words.
    settings : dict
        How it was learned.
    seed : int, optional
        Seed of the random choices in learning.
    history : tuple of Round
        Course of the learning; empty for a dictionary read from a file.
    """

    levels: FloatArray
    origin: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    history: tuple[Round, ...] = ()

    def __post_init__(self) -> None:
        levels = np.array(self.levels, np.float32)
        levels.flags.writeable = False
        object.__setattr__(self, "levels", levels)
        if self.levels.ndim != 3 or len(self.levels) < 1 or self.patch_size**2 != self.levels.shape[1]:
            raise InputError(
                f"levels have shape {self.levels.shape}; needed: (1 or more, patch_size**2, n_atoms)"
            )
        if not np.allclose(np.linalg.norm(self.levels, axis=1), 1, atol=1e-3):  # NaN is not close either
            raise InputError("every atom needs norm 1, at every level")

    @property
    def n_levels(self) -> int:
        """Focus levels: 2 in the paper, 1 for a dictionary of K-SVD."""
        return len(self.levels)

    @property
    def n_atoms(self) -> int:
        """Atoms of each level."""
        return int(self.levels.shape[2])

    @property
    def patch_size(self) -> int:
        """Side d of the square patches, in pixels."""
        return math.isqrt(self.levels.shape[1])

    @property
    def focused(self) -> FloatArray:
        """D_F: the sharpest level, the only one of a dictionary of K-SVD (patch_size**2, n_atoms)."""
        return np.asarray(self.levels[0])

    @property
    def matrix(self) -> FloatArray:
        """D = [D_F, D_B, ...]: all levels side by side (patch_size**2, n_levels * n_atoms)."""
        return np.concatenate(list(self.levels), axis=1)

    @property
    def of_focus_maps(self) -> bool:
        """Whether it was learned from focus maps, for the method `sr-fm`, and not from pictures."""
        return self.settings.get("of_focus_maps") is True

    @cached_property
    def digest(self) -> str:
        """A text that is the same for the same atoms, whatever is said about them, and for no others."""
        return hashlib.sha256(repr(self.levels.shape).encode() + self.levels.tobytes()).hexdigest()

    def pair_correlations(self) -> FloatArray:
        """Inner products of the atoms of neighbouring levels that share an index (n_levels - 1, n_atoms)."""
        return np.asarray(np.einsum("lmi,lmi->li", self.levels[:-1], self.levels[1:]))

    @classmethod
    def learn(
        cls,
        focused: Images,
        *blurred: Images,
        patch_size: int = 8,
        n_atoms: int = 256,
        max_atoms: int = 5,
        rounds: int = 10,
        update_cycles: int = 1,
        start: Start = "samples",
        n_samples: int = 30_000,
        focused_weight: float | None = None,
        separate: bool = False,
        min_contrast: float = MIN_CONTRAST,
        of_focus_maps: bool = False,
        rng: int | np.random.Generator = 0,
        origin: str = "",
        progress: Progress = silent,
        watch: WatchRound = unwatched_round,
    ) -> CoupledDictionary:
        """Learn from registered images of the same scenes at two or more focus levels, or from sharp ones.

        Parameters
        ----------
        focused, *blurred : images (h, w) in unit range, or one image each
            Image i shows the same scene at every level, sharpest level first. Without blurred images a
            single level is learned, by K-SVD.
        patch_size : int
            Side of the patches.
        n_atoms : int
            Atoms of each level.
        max_atoms : int
            Most atoms in the code of one training patch; larger fits closer, and slower.
        rounds, update_cycles : int
            Coding steps, and passes over the atoms after each of them.
        start : "samples" or "dct"
            What learning begins with: training samples, or overcomplete cosines.
        n_samples : int
            Training patches drawn at random from all images.
        focused_weight : float, optional
            mu: share of the focused term in the joint error, between 0 and 1; equal shares by default.
        separate : bool
            Learn each level alone by K-SVD: the comparison in the paper, where atoms do not correspond.
        min_contrast : float
            Patches of less standard deviation are left out: they hold little but noise.
        of_focus_maps : bool
            The images are focus maps, as the method `sr-fm` codes them, which is kept in the file.
        rng : int or Generator
            Seed of the draw; the same seed gives the same bits.
        origin : str
            What the images are, kept in the file.
        progress : callable, optional
            Called as `progress(stage, done)` with the share done, 0 to 1.
        watch : callable, optional
            Called as `watch(round, atoms)` after each round of coupled learning, with what it did and the
            atoms as they are then, in the shape of `levels`.
        """
        settings = Learning(
            n_atoms=n_atoms, max_atoms=max_atoms, rounds=rounds, update_cycles=update_cycles, start=start
        )
        images = [_as_list(level) for level in (focused, *blurred)]
        if len({len(level) for level in images}) > 1:
            raise InputError(f"levels need equally many images, got {[len(level) for level in images]}")
        shares = _level_shares(focused_weight, len(images))
        generator = np.random.default_rng(rng)
        samples = sample_patches(
            images,
            patch_size=patch_size,
            n_samples=n_samples,
            rng=generator,
            min_contrast=min_contrast,
        )
        if separate:
            learned = [learn_ksvd(level, settings, rng=generator, progress=progress) for level in samples]
            atoms, history = np.stack([a for a, _ in learned]), sum((h for _, h in learned), ())
        else:
            atoms, history = learn_coupled(
                samples, settings, rng=generator, level_shares=shares, progress=progress, watch=watch
            )
        recorded = asdict(settings) | {"focused_weight": focused_weight, "separate": separate}
        recorded["n_samples"] = samples[0].shape[1]
        if min_contrast != MIN_CONTRAST:  # nothing is said where it is as usual, in older files neither
            recorded["min_contrast"] = min_contrast
        if of_focus_maps:
            recorded["of_focus_maps"] = True
        recorded = {k: v.item() if isinstance(v, np.generic) else v for k, v in recorded.items()}
        return cls(atoms, origin, recorded, int(rng) if isinstance(rng, int | np.integer) else None, history)

    @classmethod
    def default(cls, name: str = "levels2") -> CoupledDictionary:
        """Load a dictionary that comes with the package.

        "levels2" and "levels3", with two grades of blur, are coupled. Of one level are "ksvd", sharp patches,
        and "focus-maps", patches of focus maps for the method `sr-fm`.
        """
        if name not in DEFAULT_NAMES:
            raise InputError(
                f"no dictionary {name!r} comes with panfocus; there are {', '.join(DEFAULT_NAMES)}"
            )
        return _shipped(name)

    @classmethod
    def find(cls, name: str | PathLike[str]) -> CoupledDictionary:
        """Load the dictionary that comes with the package under this name, or else the file of this name."""
        if name in DEFAULT_NAMES:
            return cls.default(str(name))
        if not Path(name).suffix:
            raise InputError(
                f"no dictionary {str(name)!r}: needed is one of {', '.join(DEFAULT_NAMES)}, or a file .npz"
            )
        return cls.load(name)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CoupledDictionary:
        """Read a dictionary file; one that is cut, wrong or hostile is refused with a FileError."""
        levels, header = read_dictionary_file(Path(path))
        return cls(levels, header["origin"], header["settings"], header["seed"])

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write a dictionary file (.npz); an existing one is replaced only with `force`."""
        header = {
            "patch_size": self.patch_size,
            "n_levels": self.n_levels,
            "n_atoms": self.n_atoms,
            "settings": self.settings,
            "seed": self.seed,
            "origin": self.origin,
        }
        write_dictionary_file(Path(path), self.levels, header, force=force)

    def __str__(self) -> str:
        return (
            f"{describe_sizes(self.n_levels, self.n_atoms)}, {self.patch_size} x {self.patch_size} pixels"
            + (f"; {self.origin}" if self.origin else "")
        )


@cache
def _shipped(name: str) -> CoupledDictionary:
    with as_file(files("panfocus") / "data" / "dictionaries" / f"{name}.npz") as path:
        return CoupledDictionary.load(path)


def _as_list(images: Images) -> list[FloatArray]:
    """Return one image or several as a list, in unit range."""
    several = images[None] if isinstance(images, np.ndarray) and images.ndim == 2 else images
    listed = [np.asarray(image) for image in several]
    return [IntensityScale.of(image.dtype).to_unit(image) for image in listed]


def _level_shares(focused_weight: float | None, n_levels: int) -> list[float] | None:
    if focused_weight is None:
        return None
    if not 0 < focused_weight < 1:
        raise InputError(f"focused_weight must lie between 0 and 1, got {focused_weight}")
    if n_levels == 1:
        raise InputError("focused_weight needs blurred images beside the focused ones")
    return [focused_weight] + [(1 - focused_weight) / (n_levels - 1)] * (n_levels - 1)
