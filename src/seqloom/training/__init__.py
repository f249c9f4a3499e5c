"""Training: the loop, optimization, truncated BPTT, checkpoints and events."""
