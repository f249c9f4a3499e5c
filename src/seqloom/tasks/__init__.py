"""Tasks: what ties files to a model and a number; one folder each, what they share and metrics beside them."""
