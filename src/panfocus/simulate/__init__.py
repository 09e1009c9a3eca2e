"""Simulated defocus for learning, and rendered focal stacks with ground truth for tests."""

from panfocus.simulate.defocus import apply_defocus, disk, simulate_levels, simulate_training
from panfocus.simulate.layers import Layer, Truth, find_truth, render_stack
from panfocus.simulate.scenes import SceneSetting, draw_layers

__all__ = [
    "Layer",
    "SceneSetting",
    "Truth",
    "apply_defocus",
    "disk",
    "draw_layers",
    "find_truth",
    "render_stack",
    "simulate_levels",
    "simulate_training",
]
