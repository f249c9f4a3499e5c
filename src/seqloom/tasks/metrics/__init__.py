"""Metrics: `add` takes one batch at a time and keeps only counts; `scores` returns the result."""
