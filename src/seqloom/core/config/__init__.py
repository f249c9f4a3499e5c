"""The config of an experiment: one file a part."""
