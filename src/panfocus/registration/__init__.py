"""Registration: align the frames of a stack before they are fused."""
