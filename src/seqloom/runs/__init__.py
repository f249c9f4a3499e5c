"""Run folders: read and write them; load and predict."""
