"""Tokenizers of characters, bytes, words and byte pairs, trained on a bounded sample of the text."""

from seqloom.data.tokenizers.registry import TOKENIZERS, train_tokenizer
from seqloom.data.tokenizers.tokenizer import Ids, State, Tokenizer

__all__ = ["TOKENIZERS", "Ids", "State", "Tokenizer", "train_tokenizer"]
