"""Look inside: each lens returns data first, and a view of it."""
