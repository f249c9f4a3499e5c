"""The config of an experiment: its sections, the rules between keys, and TOML files."""
