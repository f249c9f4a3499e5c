"""From next-token scores to sequences."""
