"""The loop and its small parts: optimiser, schedule, clipping, truncated BPTT, checkpoints, events."""
