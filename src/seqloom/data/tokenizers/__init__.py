"""Text to tokens and back: characters, bytes, words or byte pairs, learned from a bounded sample of the text."""

from seqloom.data.tokenizers.registry import TOKENIZERS, train_tokenizer
from seqloom.data.tokenizers.tokenizer import Ids, State, Tokenizer

__all__ = ["TOKENIZERS", "Ids", "State", "Tokenizer", "train_tokenizer"]
