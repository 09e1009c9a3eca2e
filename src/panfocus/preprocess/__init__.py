"""Preparation of frames before fusion: repair hot pixels, equalise exposure, find unsuitable frames."""
