"""Perplexity and bits per character equal their formulas."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.nn import GRU, Model, PerToken, Recurrent, TokenEmbedding
from seqloom.tasks.metrics.likelihood import Likelihood


def test_a_uniform_guess_has_the_perplexity_of_its_vocabulary() -> None:
    text = Likelihood()
    text.add(nats=12 * math.log(32), tokens=12, characters=30)
    scores = text.scores()
    assert scores["perplexity"] == pytest.approx(32)
    assert scores["loss"] == pytest.approx(math.log(32))
    assert scores["bits_per_character"] == pytest.approx(12 * 5 / 30)


@given(batches=st.lists(st.tuples(st.floats(0, 1e3), st.integers(0, 50), st.integers(0, 99)), min_size=1, max_size=6))
def test_batches_add_up(batches: list[tuple[float, int, int]]) -> None:
    whole, batched = Likelihood(), Likelihood()
    for nats, tokens, characters in batches:
        batched.add(nats, tokens, characters=characters)
    whole.add(sum(b[0] for b in batches), sum(b[1] for b in batches), characters=sum(b[2] for b in batches))
    assert batched.scores() == pytest.approx(whole.scores())


def test_the_loss_of_a_model_is_accepted() -> None:
    model = Model(TokenEmbedding(5, 3), Recurrent(GRU(3, 4)), PerToken(4, 5)).eval()
    tokens, target, lengths = torch.randint(5, (2, 6)), torch.randint(5, (2, 6)), torch.tensor([6, 3])
    loss = model.loss(tokens, target, lengths)
    text = Likelihood()
    text.add(loss.total, loss.count)
    assert text.tokens == 9
    assert text.scores() == pytest.approx({"loss": loss.mean.item(), "perplexity": loss.mean.exp().item()})


def test_without_tokens_there_are_no_scores() -> None:
    assert Likelihood().scores() == {}


def test_without_characters_there_are_no_bits_per_character() -> None:
    text = Likelihood()
    text.add(nats=3.0, tokens=2)
    assert set(text.scores()) == {"loss", "perplexity"}


def test_a_perplexity_that_overflows_is_infinite() -> None:
    text = Likelihood()
    text.add(nats=1e6, tokens=1)
    assert text.scores()["perplexity"] == math.inf


def test_sums_are_in_float64() -> None:
    text = Likelihood()
    text.add(torch.tensor(2.0**24), torch.tensor(1))
    text.add(torch.tensor(1.0), torch.tensor(1))
    assert text.nats == 2**24 + 1  # float32 would lose the 1
