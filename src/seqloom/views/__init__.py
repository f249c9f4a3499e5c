"""Figures as data, and renderers for pages, papers and terminals."""
