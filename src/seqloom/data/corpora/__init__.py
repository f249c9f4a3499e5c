"""Embedded corpora, which need no download: generated from a seed, or made of what Python ships with."""
