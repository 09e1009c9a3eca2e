"""Measurements: speed beside peers in the same run, memory, and quality beside the paper's tables."""
