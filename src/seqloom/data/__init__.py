"""Everything from files to batches: readers, splits, tokenizers, embedded corpora, the order of batches."""
