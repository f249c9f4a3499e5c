"""The stem of words and their letters."""

from seqloom.nn.positions import LearnedPositions, Sinusoidal
from seqloom.nn.word_embedding import CharacterCNN, CharacterLSTM, WordEmbedding
from tests.nn.catalogue.case import Case
from tests.nn.references.words import words

layers = {
    "letters by lstm": lambda: WordEmbedding(7, 4, CharacterLSTM(6, 3, 4)),
    "letters by convolution": lambda: WordEmbedding(7, 4, CharacterCNN(6, 3, 5)),
    "sinusoidal": lambda: WordEmbedding(7, 2, CharacterLSTM(6, 3, 2), positions=Sinusoidal(4)),
    "learned positions": lambda: WordEmbedding(7, 2, CharacterCNN(6, 3, 2), positions=LearnedPositions(4, 9)),
}

noisy = {"dropout": lambda: WordEmbedding(7, 4, CharacterCNN(6, 3, 2), dropout=0.5, word_dropout=0.5)}

cases = [Case(name, make, words, shares=True) for name, make in layers.items()]
cases += [Case(name, make, words, noisy=True, shares=True) for name, make in noisy.items()]
