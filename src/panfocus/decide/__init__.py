"""Decide which frame is in focus at each pixel, and compose the fused image.

Modules in the order of the data: `gray` and `patches` prepare the frames; `reblur` and `focus_measure`
measure focus; `labels` chooses a frame for each pixel; `depth` interpolates between frames; `compose` merges
the frames.
"""
