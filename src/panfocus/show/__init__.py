"""Pictures for the eye, made of frames and results."""
