"""Files in, batches out: readers, tokenisers, the order of samples, embedded corpora."""
