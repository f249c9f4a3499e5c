"""Stems of sequences. (test_vision has the stems of images, whose input is no sequence.)"""

from seqloom.nn.positions import LearnedPositions, Sinusoidal
from seqloom.nn.stems import TokenEmbedding, frame_embedding
from tests.nn.catalogue.case import Case
from tests.nn.references.stems import stems

layers = {
    "tokens": lambda: TokenEmbedding(7, 4),
    "tokens, scaled, sinusoidal": lambda: TokenEmbedding(7, 4, scaled=True, positions=Sinusoidal(4)),
    "tokens, learned positions, norm": lambda: TokenEmbedding(7, 6, positions=LearnedPositions(6, 9), norm="layer"),
    "frames": lambda: frame_embedding(3, 4),
    "frames, sinusoidal, norm": lambda: frame_embedding(3, 5, positions=Sinusoidal(5), norm="layer"),
    "frames, learned positions": lambda: frame_embedding(3, 4, positions=LearnedPositions(4, 9)),
}

noisy = {
    "tokens, dropout": lambda: TokenEmbedding(7, 4, dropout=0.5),
    "tokens, word dropout": lambda: TokenEmbedding(7, 4, positions=Sinusoidal(4), word_dropout=0.5),
    "frames, dropout": lambda: frame_embedding(3, 4, dropout=0.5),
}

cases = [Case(name, make, stems) for name, make in layers.items()]
cases += [Case(name, make, stems, noisy=True) for name, make in noisy.items()]
