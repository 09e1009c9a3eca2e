"""Many stacks, fused one by one with the same settings, by processes of this machine or on a cluster."""
