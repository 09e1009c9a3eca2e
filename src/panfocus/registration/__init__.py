"""Registration: align the frames of a stack before they are fused."""

MODELS = ("shift", "similarity", "affine", "homography")  # each includes the ones before it
CHOICES = ("auto", *MODELS)
BORDERS = ("full", "crop")
