"""Tasks: what ties files to a model and a number; one file each, metrics beside them."""
