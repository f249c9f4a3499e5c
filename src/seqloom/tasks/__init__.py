"""Tasks: the config, data, model, loss and scores of each, in a folder of its own; metrics, and what tasks share."""
