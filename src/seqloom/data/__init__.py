"""Files in, batches out: readers, tokenizers, the order of samples, embedded corpora."""
