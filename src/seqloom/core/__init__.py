"""What can be said without torch: errors, names, registries."""
