"""Pictures of frames and results for display."""
