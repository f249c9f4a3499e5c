"""Properties of stems beyond those of every layer, which the conformance suite tests."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.core.problem import ArgumentError
from seqloom.nn.normalization import RMSNorm
from seqloom.nn.positions import LearnedPositions, Sinusoidal
from seqloom.nn.stems import TokenEmbedding, frame_embedding

# Tokens -----------------------------------------------------------------------------------------------------------


@given(padding=st.lists(st.sampled_from([-1, 10**6, 0, 3]), min_size=5, max_size=5))
def test_padding_may_have_any_value(padding: list[int]) -> None:
    stem = TokenEmbedding(9, 4, positions=Sinusoidal(4))
    tokens, lengths = torch.tensor([[4, 0, 0, 0], [1, 2, 0, 0], [7, 7, 7, 7]]), torch.tensor([1, 2, 4])
    filled = tokens.clone()
    filled[torch.arange(4) >= lengths.unsqueeze(1)] = torch.tensor(padding)
    gradients = []
    for given_tokens in (tokens, filled):
        stem.zero_grad()
        x, _ = stem(given_tokens, lengths)
        x.square().sum().backward()
        gradients.append(stem.embedding.weight.grad.clone())
    assert torch.equal(*gradients)
    assert gradients[0][[0, 3]].eq(0).all()  # tokens that occur on padding alone


def test_the_vector_of_a_token_is_its_row_of_the_embedding() -> None:
    stem = TokenEmbedding(9, 16)
    assert torch.equal(stem(torch.tensor([[3, 8]]))[0][0], stem.embedding.weight[[3, 8]])


def test_scaled_embeddings_are_multiplied_by_the_root_of_the_size() -> None:
    plain, scaled = TokenEmbedding(9, 16), TokenEmbedding(9, 16, scaled=True)
    scaled.load_state_dict(plain.state_dict())
    tokens = torch.tensor([[3, 8]])
    assert torch.equal(scaled(tokens)[0], 4 * plain(tokens)[0])


def test_initialized_scaled_embeddings_have_unit_variance() -> None:
    words, _ = TokenEmbedding(2000, 64, scaled=True)(torch.arange(2000).unsqueeze(0))
    assert words.std().item() == pytest.approx(1, abs=0.01)


def test_a_tied_stem_uses_the_embedding_of_the_other() -> None:
    words = TokenEmbedding(9, 4)
    tied = TokenEmbedding(9, 4, scaled=True, tied=words)
    assert list(tied.parameters()) == []
    assert "tied=True" in repr(tied)
    assert torch.equal(tied(torch.tensor([[3]]))[0][0, 0], 2 * words.embedding.weight[3])
    assert TokenEmbedding(9, 4, tied=tied).embedding is words.embedding
    with pytest.raises(ArgumentError, match=r"TokenEmbedding: tied has a matrix \[9, 4\]; expected \[9, 5\]"):
        TokenEmbedding(9, 5, tied=words)


@pytest.mark.parametrize("positions", [Sinusoidal(4), LearnedPositions(4, 6)], ids=["sinusoidal", "learned"])
def test_positions_continue_from_call_to_call_by_row(positions) -> None:
    stem = TokenEmbedding(9, 4, positions=positions)
    tokens = torch.randint(9, (2, 6))
    whole, _ = stem(tokens)
    first, state = stem(tokens[:, :3], torch.tensor([1, 3]))
    second, state = stem(torch.stack([tokens[0, 1:4], tokens[1, 3:6]]), state=state)
    assert torch.equal(first[0, :1], whole[0, :1])
    assert torch.equal(second[0], whole[0, 1:4])
    assert torch.equal(second[1], whole[1, 3:6])
    assert state.position.tolist() == [4, 6]


def test_word_dropout_drops_all_occurrences_of_a_token() -> None:
    stem = TokenEmbedding(50, 4, word_dropout=0.4)
    tokens = torch.randint(50, (20, 30))
    table = stem.embedding.weight
    x, _ = stem(tokens)
    kept = torch.zeros(50, dtype=torch.bool)
    for word in tokens.unique():
        vectors = x[tokens == word]
        kept[word] = vectors.abs().sum() > 0
        expected = table[word] / 0.6 if kept[word] else torch.zeros(4)
        torch.testing.assert_close(vectors, expected.expand_as(vectors))
    assert 15 < kept.sum() < 45
    assert not torch.equal(stem(tokens)[0], x)  # other tokens in the next call
    assert torch.equal(stem.eval()(tokens)[0], table[tokens])


def test_a_dropped_token_keeps_its_position() -> None:
    stem = TokenEmbedding(3, 4, positions=Sinusoidal(4), word_dropout=0.999999)
    x, _ = stem(torch.tensor([[0, 1, 2]]))
    assert torch.equal(x, Sinusoidal(4)(torch.zeros(1, 3, 4))[0])


def test_tokens_may_be_int32_or_int64() -> None:
    stem, tokens = TokenEmbedding(9, 4), torch.tensor([[3, 8]])
    assert torch.equal(stem(tokens.int())[0], stem(tokens)[0])


# Frames -----------------------------------------------------------------------------------------------------------


def test_the_norm_of_frames_is_a_name_or_a_layer() -> None:
    named, given_norm = frame_embedding(3, 4, norm="rms"), frame_embedding(3, 4, norm=RMSNorm(4))
    given_norm.load_state_dict(named.state_dict())
    series = torch.randn(2, 5, 3)
    x, _ = named(series)
    assert torch.equal(given_norm(series)[0], x)
    torch.testing.assert_close(x.square().mean(dim=2), torch.ones(2, 5), rtol=1e-3, atol=1e-3)


# Invalid input ----------------------------------------------------------------------------------------------------

wrong_tokens = {
    "tokens has type torch.float32; expected whole numbers, torch.int64 or torch.int32.": torch.rand(2, 3),
    "tokens has type torch.bool; expected whole numbers, torch.int64 or torch.int32.": torch.ones(2, 3).bool(),
    "tokens has shape [2, 3, 1]; expected two dimensions, [batch, time].": torch.zeros(2, 3, 1).long(),
    "tokens has the value 9; expected 0 to 8 (the vocabulary).": torch.tensor([[0, 9]]),
    "tokens has the value -1; expected 0 to 8 (the vocabulary).": torch.tensor([[0, -1]]),
    "tokens is a list; expected a tensor [batch, time].": [[1, 2]],
    "tokens is on meta; expected cpu, where the weights are; move it with .to('cpu').": torch.zeros(2, 3)
    .long()
    .to("meta"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("complaint", "tokens"), wrong_tokens.items(), ids=range(len(wrong_tokens)))
def test_invalid_tokens_are_an_error(complaint: str, tokens: object) -> None:
    with pytest.raises(ArgumentError) as caught:
        TokenEmbedding(9, 4)(tokens)
    assert str(caught.value) == f"TokenEmbedding: {complaint}"


@pytest.mark.usefixtures("unchecked")
def test_invalid_settings_are_errors() -> None:
    for make, complaint in (
        (lambda: TokenEmbedding(0, 4), "TokenEmbedding: vocabulary is 0; expected a whole number, at least 1."),
        (lambda: TokenEmbedding(9, 0), "TokenEmbedding: size is 0; expected a whole number, at least 1."),
        (
            lambda: TokenEmbedding(9, 4, word_dropout=1.0),
            "TokenEmbedding: word_dropout is 1.0; expected a probability, .*",
        ),
        (
            lambda: TokenEmbedding(9, 4, positions=Sinusoidal(6)),
            "TokenEmbedding: positions has width 6; expected 4, the stem's size.",
        ),
        (lambda: frame_embedding(0, 4), "frame_embedding: features is 0; expected a whole number, at least 1."),
        (
            lambda: frame_embedding(3, 4, positions=Sinusoidal(6)),
            "frame_embedding: positions has width 6; expected 4, the stem's size.",
        ),
    ):
        with pytest.raises(ArgumentError, match=f"^{complaint}$"):
            make()


def test_more_tokens_than_learned_positions_are_an_error() -> None:
    stem = TokenEmbedding(9, 4, positions=LearnedPositions(4, 5))
    _, state = stem(torch.zeros(2, 3).long())
    with pytest.raises(
        ArgumentError, match=r"TokenEmbedding: tokens has 3 steps after 3 earlier ones; expected at most 5 in all\."
    ):
        stem(torch.zeros(2, 3).long(), state=state)
