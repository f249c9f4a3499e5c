"""How good a model is: `add` a batch at a time, of which counts alone are kept; `scores` says the result."""
