"""One file a format: each reads a file into examples, with the place of each."""
