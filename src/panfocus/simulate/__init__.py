"""Simulated defocus for learning, and rendered focal stacks with ground truth for tests."""

from panfocus.simulate.aperture import light_through_aperture, render_through_aperture
from panfocus.simulate.bright_field import (
    Microscope,
    Specimen,
    find_depth,
    image_sharp,
    image_specimen,
)
from panfocus.simulate.camera import CameraFaults, apply_faults, move_frame
from panfocus.simulate.defocus import apply_defocus, disk, simulate_levels, simulate_training
from panfocus.simulate.fluorescence import (
    FluorescenceMicroscope,
    count_photons,
    find_emitter_depth,
    image_emitters,
    image_emitters_sharp,
)
from panfocus.simulate.layers import Layer, Truth, expose, find_truth, render_light, render_stack
from panfocus.simulate.scenes import SceneSetting, draw_layers
from panfocus.simulate.specimens import Body, Pencil, Volume

__all__ = [
    "Body",
    "CameraFaults",
    "FluorescenceMicroscope",
    "Layer",
    "Microscope",
    "Pencil",
    "SceneSetting",
    "Specimen",
    "Truth",
    "Volume",
    "apply_defocus",
    "apply_faults",
    "count_photons",
    "disk",
    "draw_layers",
    "expose",
    "find_depth",
    "find_emitter_depth",
    "find_truth",
    "image_emitters",
    "image_emitters_sharp",
    "image_sharp",
    "image_specimen",
    "light_through_aperture",
    "move_frame",
    "render_light",
    "render_stack",
    "render_through_aperture",
    "simulate_levels",
    "simulate_training",
]
