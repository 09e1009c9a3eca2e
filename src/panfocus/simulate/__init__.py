"""Simulated defocus, for learning."""

from panfocus.simulate.defocus import defocused, disk, simulate_levels, simulate_training

__all__ = ["defocused", "disk", "simulate_levels", "simulate_training"]
