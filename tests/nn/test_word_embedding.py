"""Words and letters, beyond the tests of the stem in the conformance suite."""

from typing import get_args

import pytest
import torch

from seqloom.core import names
from seqloom.core.problem import ArgumentError
from seqloom.nn.word_embedding import CHARACTER_ENCODERS, CharacterCNN, CharacterEncoder, CharacterLSTM, WordEmbedding

KINDS = [CharacterLSTM, CharacterCNN]


def test_names_are_those_of_the_config() -> None:
    assert tuple(CHARACTER_ENCODERS) == get_args(names.CharacterEncoder)


@pytest.mark.parametrize("kind", KINDS)
def test_a_spelling_does_not_depend_on_the_length_of_other_words(kind: type[CharacterEncoder]) -> None:
    spelling = kind(9, 3, 4).double()
    alone = spelling(torch.tensor([[3, 1]]))
    together = spelling(torch.tensor([[3, 1, 0, 0], [8, 7, 6, 5]]))
    torch.testing.assert_close(together[:1], alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_letters_and_their_order_matter(kind: type[CharacterEncoder]) -> None:
    spelling = kind(9, 3, 64).double()
    vectors = spelling(torch.tensor([[3, 1, 2], [2, 1, 3], [3, 1, 4]]))
    assert not torch.allclose(vectors[0], vectors[1])
    assert not torch.allclose(vectors[0], vectors[2])


@pytest.mark.parametrize("kind", KINDS)
def test_the_spelling_of_a_word_without_letters_is_zero(kind: type[CharacterEncoder]) -> None:
    assert not kind(9, 3, 4)(torch.zeros(2, 3, dtype=torch.int64)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_padding_gives_letters_no_gradient(kind: type[CharacterEncoder]) -> None:
    spelling = kind(9, 3, 4)
    spelling(torch.tensor([[3, 1, 0], [5, 0, 0]])).square().sum().backward()
    assert spelling.embedding.weight.grad is not None
    touched = spelling.embedding.weight.grad.any(dim=1).nonzero().flatten().tolist()
    assert set(touched) <= {1, 3, 5}


def test_repeated_words_are_spelled_once() -> None:
    seen: list[int] = []
    stem = WordEmbedding(9, 2, CharacterCNN(9, 3, 4))
    stem.spelling.register_forward_pre_hook(lambda _, args: seen.append(args[0].shape[0]))
    tokens = torch.tensor([[[1, 3, 1], [2, 5, 0], [1, 3, 1]], [[4, 3, 1], [2, 5, 0], [7, 5, 0]]])
    x, _ = stem(tokens)
    assert seen == [2]
    torch.testing.assert_close(x[0, 0], x[0, 2])
    torch.testing.assert_close(x[0, 0, 2:], x[1, 0, 2:])  # the same letters with another word
    assert not torch.equal(x[0, 0, :2], x[1, 0, :2])


def test_word_dropout_drops_words_and_keeps_letters() -> None:
    stem = WordEmbedding(50, 4, CharacterCNN(9, 3, 4), word_dropout=0.5).train()
    tokens = torch.cat([torch.arange(50).reshape(1, 50, 1), torch.full((1, 50, 2), 3)], dim=2)
    x, _ = stem(tokens)
    dropped = (x[0, :, :4] == 0).all(dim=1)
    assert 5 < int(dropped.sum()) < 45
    torch.testing.assert_close(x[0, :, 4:], x[0, :1, 4:].expand(50, 4))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (torch.zeros(2, 3, dtype=torch.int64), "shape [2, 3]; expected [batch, time, 1 + characters]"),
        (torch.zeros(2, 3, 1, dtype=torch.int64), "shape [2, 3, 1]; expected [batch, time, 1 + characters]"),
        ([[[1, 2]]], "list; expected [batch, time, 1 + characters]"),
        (torch.tensor([[[9, 1]]]), "the value 9; expected 0 to 8"),
        (torch.tensor([[[1, 6]]]), "the value 6; expected 0 to 5"),
        (torch.tensor([[[1, -1]]]), "the value -1; expected 0 to 5"),
        (torch.zeros(1, 2, 3), "type torch.float32; expected whole numbers"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_invalid_input_is_an_error(tokens: object, expected: str) -> None:
    with pytest.raises(ArgumentError) as wrong:
        WordEmbedding(9, 2, CharacterCNN(6, 3, 4))(tokens)
    assert expected in str(wrong.value)


def test_an_odd_size_of_a_character_lstm_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="size is 5; expected an even number, half per direction"):
        CharacterLSTM(9, 3, 5)
