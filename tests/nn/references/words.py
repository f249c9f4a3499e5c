"""The equations of words and their letters: one word and one letter at a time."""

import numpy as np
from torch import nn

from tests.nn.references import Array, by_row, weight
from tests.nn.references.mixing import centered
from tests.nn.references.recurrent import row_of
from tests.nn.references.stems import P


def word_by_word(layer: nn.Module, raw: Array) -> Array:
    """x_t = [E[word_t]; spelling(letters_t)] + P_t"""
    E = weight(layer.words.embedding, "weight")
    size = E.shape[1] + layer.spelling.output_size
    x = np.array([np.concatenate([E[word], spelt(layer.spelling, letters)]) for word, *letters in raw])
    x = x.reshape(len(raw), size)
    return x + P(layer.layers["positions"], *x.shape)


def spelt(spelling: nn.Module, letters: list[int]) -> Array:
    """[→h_n; ←h_1], or the maximum of each filter; zeros for a word without letters."""
    letters = [letter for letter in letters if letter]
    if not letters:
        return np.zeros(spelling.output_size)
    x = weight(spelling.embedding, "weight")[letters]
    if type(spelling).__name__ == "CharacterLSTM":
        ahead, back = (row_of(spelling.recurrent.layers[name], x) for name in ("forwards", "backwards"))
        return np.concatenate([ahead[-1], back[0]])
    return centered(spelling.convolution, x).max(axis=0)


words = by_row(word_by_word)
