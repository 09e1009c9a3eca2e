"""SD: standard deviation of the fused image."""

from numpy.typing import ArrayLike

from panfocus.metrics._inputs import UndefinedError, single_image


def sd(fused: ArrayLike, *, data_range: float | None = None) -> float:
    """Mean over the columns of their standard deviation.

    SD = mean over columns j of sqrt(sum over rows i of (x_ij - m_j)^2 / (h - 1)), on a scale of 0..255.
    This is what the field's scripts compute, not the standard deviation of all pixels.

    Parameters
    ----------
    fused : array (h, w)
        The grey fused image: uint8, uint16, float32 or float64, of at least two rows.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.

    Returns
    -------
    float
        From 0, for images whose columns are constant, to 127.5 sqrt(h / (h - 1)). Larger counts as better.

    Notes
    -----
    *What it rewards wrongly.* Contrast of any kind, at any scale: stretching the histogram raises it, blur
    hardly lowers it. Horizontal gradients do not count at all, so that turning the image by 90 degrees
    changes the value.

    *Variants in use.* The papers' formula is the standard deviation of all pixels. It is larger wherever
    the columns' means differ.

    References
    ----------
    Y.-J. Rao, "In-fibre Bragg grating sensors", Measurement Science and Technology 8(4), 1997, is what
    surveys of fusion cite for it.
    """
    image = single_image(fused, data_range)
    if image.shape[0] < 2:
        raise UndefinedError("sd needs at least two rows, the image has one")
    return float(image.plane().std(axis=0, ddof=1).mean())
