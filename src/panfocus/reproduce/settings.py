"""How much is computed: the paper's settings, and the values over which its curves are drawn."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Sizes and values of a reproduction; the defaults are those of the paper, as far as it says them.

    Attributes
    ----------
    n_samples, rounds : int
        Training pairs, and rounds of coding and update, of every dictionary.
    patch_size : int
        Side of the patches where the paper does not vary it; a dictionary has 4 atoms a pixel and half.
    w, eps : float
        Settings where the paper does not vary them. For w it says only which are best: .54 to .56.
    seed : int
        Of the draw of training patches.
    more_seeds : tuple
        Other draws, to see how much the draw matters.
    w_values, eps_values, patch_sizes : tuple
        What the curves are drawn over.
    label_stride : int
        Pixels from patch to patch where patches are labelled by ground truth.
    """

    n_samples: int = 30_000
    rounds: int = 10
    patch_size: int = 8
    w: float = 0.55
    eps: float = 0.1
    seed: int = 0
    more_seeds: tuple[int, ...] = (1, 2)
    w_values: tuple[float, ...] = (
        0.50, 0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57, 0.58, 0.60,
        0.62, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95, 0.99,
    )  # fmt: skip
    eps_values: tuple[float, ...] = (0.01, 0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.4, 0.5)
    patch_sizes: tuple[int, ...] = (4, 6, 8, 10, 12)
    label_stride: int = 4


PAPER = Plan()
