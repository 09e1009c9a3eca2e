"""Fuse many stacks with the same settings, on this machine or on a cluster, and resume."""
