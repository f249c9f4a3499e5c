"""What checks of data before training share: findings, duplicates, the quality of texts. The checks are a task's."""
