"""CoupledDictionary: corresponding focused and blurred atoms, or focused atoms alone."""

from __future__ import annotations

import hashlib
import logging
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
from panfocus.dictionary.learning import Learning, Round, Start, WatchRound, learn_coupled
from panfocus.dictionary.training import MIN_CONTRAST, data_range, sample_patches
from panfocus.errors import InputError, Notice
from panfocus.io.dictionary_file import describe_sizes, read_dictionary_file, write_dictionary_file

DEFAULT_NAMES = ("levels2", "levels3", "ksvd", "focus-maps")

FEW_PATCHES = 0.1  # share of the requested training patches below which learning warns

Images = Sequence[FloatArray] | NDArray[Any]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class CoupledDictionary:
    """Dictionaries with corresponding atoms, from focused to most blurred, or a single one from K-SVD.

    Attributes
    ----------
    levels : array (n_levels, patch_size**2, n_atoms), float32
        Unit atoms as columns: `levels[0]` is D_F of the paper, `levels[1]` is D_B.
    origin : str
        Description of the training data.
    settings : dict
        Settings of the learning.
    seed : int, optional
        Seed of the learning.
    history : tuple of Round
        Record of the learning; empty for a dictionary read from a file.
    notices : tuple of Notice
        Warnings about the learning; empty for a dictionary read from a file.
    """

    levels: FloatArray
    origin: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    history: tuple[Round, ...] = ()
    notices: tuple[Notice, ...] = ()

    def __post_init__(self) -> None:
        levels = np.array(self.levels, np.float32)
        levels.flags.writeable = False
        object.__setattr__(self, "levels", levels)
        if self.levels.ndim != 3 or len(self.levels) < 1 or self.patch_size**2 != self.levels.shape[1]:
            raise InputError(
                f"`levels` must have shape (n_levels, patch_size**2, n_atoms), got {self.levels.shape}.",
                setting="levels",
                got=self.levels.shape,
            )
        if not np.allclose(np.linalg.norm(self.levels, axis=1), 1, atol=1e-3):  # also rejects NaN
            raise InputError("Every atom must have norm 1 at every level.", setting="levels")

    @property
    def n_levels(self) -> int:
        """Number of focus levels: 2 in the paper, 1 from K-SVD."""
        return len(self.levels)

    @property
    def n_atoms(self) -> int:
        """Number of atoms of each level."""
        return int(self.levels.shape[2])

    @property
    def patch_size(self) -> int:
        """Side d of the square patches, in pixels."""
        return math.isqrt(self.levels.shape[1])

    @property
    def focused(self) -> FloatArray:
        """D_F: the sharpest level (patch_size**2, n_atoms)."""
        return np.asarray(self.levels[0])

    @property
    def matrix(self) -> FloatArray:
        """D = [D_F, D_B, ...]: all levels side by side (patch_size**2, n_levels * n_atoms)."""
        return np.concatenate(list(self.levels), axis=1)

    @property
    def of_focus_maps(self) -> bool:
        """Whether it was learned from focus maps (for the method `sr-fm`), not from images."""
        return self.settings.get("of_focus_maps") is True

    @cached_property
    def digest(self) -> str:
        """Hash of the atoms, without origin and settings."""
        return hashlib.sha256(repr(self.levels.shape).encode() + self.levels.tobytes()).hexdigest()

    def pair_correlations(self) -> FloatArray:
        """Return the inner products of corresponding atoms of neighbouring levels (n_levels - 1, n_atoms)."""
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
        min_contrast: float | None = None,
        of_focus_maps: bool = False,
        rng: int | np.random.Generator = 0,
        origin: str = "",
        progress: Progress = silent,
        watch: WatchRound | None = None,
    ) -> CoupledDictionary:
        """Learn from registered images of the same scenes at two or more focus levels, or from sharp images.

        Parameters
        ----------
        focused, *blurred : images (h, w) in unit range, or one image each
            Image i shows the same scene at every level, sharpest level first. Without blurred images a
            single level is learned, by K-SVD.
        patch_size : int
            Side of the patches in pixels.
        n_atoms : int
            Number of atoms of each level.
        max_atoms : int
            Largest number of atoms in the code of a training patch; larger is more exact and slower.
        rounds, update_cycles : int
            Number of coding steps, and of passes over the atoms after each of them.
        start : "samples" or "dct"
            Initial dictionary: training samples, or overcomplete cosines.
        n_samples : int
            Number of training patches, drawn at random from all images.
        focused_weight : float, optional
            mu: share of the focused level in the error, between 0 and 1. Default: equal shares.
        separate : bool
            Learn each level alone by K-SVD, so that atoms do not correspond: the comparison in the paper.
        min_contrast : float, optional
            Skip patches with a smaller standard deviation, in unit range: they are mostly noise. Default:
            1/255 of the range that the images use (16 times less for 12-bit data in 16 bits).
        of_focus_maps : bool
            True if the images are focus maps, for the method `sr-fm`. Saved in the file.
        rng : int or Generator
            Seed of the random choices; the same seed gives the same dictionary.
        origin : str
            Description of the images. Saved in the file.
        progress : callable, optional
            Called as `progress(stage, done)`, with `done` from 0 to 1.
        watch : callable, optional
            Called as `watch(round, atoms)` after each round of coupled learning, with the record of the round
            and the current atoms, in the shape of `levels`.
        """
        settings = Learning(
            n_atoms=n_atoms, max_atoms=max_atoms, rounds=rounds, update_cycles=update_cycles, start=start
        )
        images = [_as_list(level) for level in (focused, *blurred)]
        if len({len(level) for level in images}) > 1:
            raise InputError(
                f"Every level needs the same number of images, got {[len(level) for level in images]}.",
                got=[len(level) for level in images],
            )
        shares = _level_shares(focused_weight, len(images))
        generator = np.random.default_rng(rng)
        if min_contrast is None:
            min_contrast = MIN_CONTRAST * data_range(images)
        samples = sample_patches(
            images, patch_size=patch_size, n_samples=n_samples, rng=generator, min_contrast=min_contrast
        )
        notices = _check_count(samples[0].shape[1], n_samples)
        if separate:
            learned = [
                learn_coupled([level], settings, rng=generator, progress=progress) for level in samples
            ]
            atoms, history = np.concatenate([a for a, _ in learned]), sum((h for _, h in learned), ())
        else:
            atoms, history = learn_coupled(
                samples, settings, rng=generator, level_shares=shares, progress=progress, watch=watch
            )
        recorded = asdict(settings) | {"focused_weight": focused_weight, "separate": separate}
        recorded["n_samples"] = samples[0].shape[1]
        if min_contrast != MIN_CONTRAST:
            recorded["min_contrast"] = min_contrast
        if of_focus_maps:
            recorded["of_focus_maps"] = True
        recorded = {k: v.item() if isinstance(v, np.generic) else v for k, v in recorded.items()}
        seed = int(rng) if isinstance(rng, int | np.integer) else None
        return cls(atoms, origin, recorded, seed, history, notices)

    @classmethod
    def default(cls, name: str = "levels2") -> CoupledDictionary:
        """Load a dictionary that is shipped with the package.

        "levels2" and "levels3" are coupled, with one and two degrees of blur. "ksvd" (sharp patches) and
        "focus-maps" (patches of focus maps, for the method `sr-fm`) have one level.
        """
        if name not in DEFAULT_NAMES:
            raise InputError(
                f"Unknown dictionary {name!r}. Use a .npz file or one of {', '.join(DEFAULT_NAMES)}.",
                setting="dictionary",
                got=name,
                known=list(DEFAULT_NAMES),
            )
        return _shipped(name)

    @classmethod
    def find(cls, name: str | PathLike[str]) -> CoupledDictionary:
        """Load the shipped dictionary or the file with this name."""
        return cls.load(name) if Path(name).suffix else cls.default(str(name))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CoupledDictionary:
        """Read a dictionary file; raise FileError if it is truncated or invalid."""
        levels, header = read_dictionary_file(Path(path))
        return cls(levels, header["origin"], header["settings"], header["seed"])

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write a dictionary file (.npz); overwrite an existing one only with `force`."""
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


def _check_count(n_found: int, n_requested: int) -> tuple[Notice, ...]:
    """Return and log a notice if there are few training patches."""
    if n_found >= FEW_PATCHES * n_requested:
        return ()
    notice = Notice(
        f"Found only {n_found:,} training patches with enough contrast; {n_requested:,} were requested. "
        "Use more or larger images."
    )
    logger.warning("%s", notice)
    return (notice,)


def _level_shares(focused_weight: float | None, n_levels: int) -> list[float] | None:
    if focused_weight is None:
        return None
    if not 0 < focused_weight < 1:
        raise InputError(
            f"`focused_weight` must be between 0 and 1 (exclusive), got {focused_weight}.",
            setting="focused_weight",
            got=focused_weight,
        )
    if n_levels == 1:
        raise InputError(
            "`focused_weight` needs blurred images.", setting="focused_weight", got=focused_weight
        )
    return [focused_weight] + [(1 - focused_weight) / (n_levels - 1)] * (n_levels - 1)
