"""What needs no torch: errors, names, registries, the config and the format of a run."""
