"""What a layer is like when a fusion begins: who changes it meanwhile does not change the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from napari.layers import Image

LOOKS = (
    "rgb",
    "blending",
    "opacity",
    "interpolation2d",
    "interpolation3d",
    "custom_interpolation_kernel_2d",
)
LOOKS_OF_GREY = ("colormap", "contrast_limits", "gamma")
MICROSCOPES_UNITS = ("µm", "nm")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A layer without its data."""

    name: str
    ndim: int  # without the colours of RGB
    scale: NDArray[Any]
    translate: NDArray[Any]
    linear: NDArray[Any]  # from data to world: scale, rotation, shear
    affine: NDArray[Any]  # matrix of what follows
    units: tuple[Any, ...]
    axis_labels: tuple[str, ...]
    looks: dict[str, Any]  # settings of a layer that looks like it

    @classmethod
    def of(cls, layer: "Image") -> "Snapshot":
        """Take it."""
        from napari.utils.transforms import Affine

        own = Affine(scale=layer.scale, translate=layer.translate, rotate=layer.rotate, shear=layer.shear)
        looks = LOOKS if layer.rgb else (*LOOKS, *LOOKS_OF_GREY)
        return cls(
            layer.name,
            layer.ndim,
            np.array(layer.scale),
            np.array(layer.translate),
            np.array(own.linear_matrix),
            np.array(layer.affine.affine_matrix),
            tuple(layer.units),
            tuple(layer.axis_labels),
            {look: getattr(layer, look) for look in looks},
        )

    def placed(self, axes: Sequence[int], corner: Sequence[float]) -> dict[str, Any]:
        """Return the place in the world of data that lie along some axes and begin at a corner.

        Rotation and shear, which napari cannot set for every number of axes, become part of the affine
        matrix.
        """
        chosen = list(axes)
        scale, start = self.scale[chosen], np.asarray(corner, float)
        linear = self.linear[np.ix_(chosen, chosen)]
        translate = self.translate[chosen] + scale * start
        turned = np.eye(len(chosen) + 1)
        turned[:-1, :-1] = linear / scale
        turned[:-1, -1] = linear @ start + self.translate[chosen] - turned[:-1, :-1] @ translate
        with_offset = [*chosen, self.ndim]
        return {
            "scale": scale,
            "translate": translate,
            "affine": self.affine[np.ix_(with_offset, with_offset)] @ turned,
            "units": tuple(self.units[axis] for axis in chosen),
            "axis_labels": tuple(self.axis_labels[axis] for axis in chosen),
        }


def unit_sign(unit: Any) -> str:
    """Return the sign of a unit: of a micron, which pint writes as µ, that of the micrometre that it is."""

    def is_one(sign: str) -> bool:
        return bool(unit.is_compatible_with(sign) and (1 * unit).m_as(sign) == 1)

    return next(filter(is_one, MICROSCOPES_UNITS), f"{unit:~}")
