"""Findings, duplicates and the quality of texts, for the tasks' checks of data before training."""
