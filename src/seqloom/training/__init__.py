"""The loop and its small parts: optimizer, schedule, clipping, truncated BPTT, checkpoints, events."""
