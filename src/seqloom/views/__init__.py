"""Drawing: one description of a figure, and renderers for the page, the paper and the terminal."""
