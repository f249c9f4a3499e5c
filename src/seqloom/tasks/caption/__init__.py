"""Captioning."""
