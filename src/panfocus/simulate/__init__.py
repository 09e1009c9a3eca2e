"""Simulated defocus, for learning; rendered focal stacks with known truth, for measuring."""

from panfocus.simulate.defocus import defocused, disk, simulate_levels, simulate_training
from panfocus.simulate.layers import Layer, Truth, find_truth, render_stack
from panfocus.simulate.scenes import SceneSetting, draw_layers

__all__ = [
    "Layer",
    "SceneSetting",
    "Truth",
    "defocused",
    "disk",
    "draw_layers",
    "find_truth",
    "render_stack",
    "simulate_levels",
    "simulate_training",
]
