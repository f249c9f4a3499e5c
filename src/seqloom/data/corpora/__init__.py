"""Corpora that need no download: made from a seed, or from what Python brings along."""
