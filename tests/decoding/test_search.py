"""Search is compared with brute force and a teacher-forced pass, and alone with in a batch."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.core.config.decode import Decode
from seqloom.decoding.beam import Beams
from seqloom.decoding.decode import decode
from seqloom.nn import Identity, Model, PerToken, TokenEmbedding
from tests.decoding.models import (
    END,
    LANGUAGE_MODELS,
    LENGTHS,
    SOURCE,
    WORDS,
    all_texts,
    before,
    every_model,
    prompts_of,
    ready,
    recurrent_language_model,
    teacher_forced,
)
from tests.decoding.searching import ROWS, assert_same, calls, every_kind, many_steps, search, with_end


@many_steps
@every_model
def test_a_beam_of_all_texts_equals_exhaustive_search(make) -> None:
    model = ready(make)
    texts, ended = zip(*all_texts(steps=3), strict=True)
    scores = {row: teacher_forced(model, row, prompts_of(model)[row], texts) for row in (0, 1)}
    for penalty in (0.0, 1.0, 2.0):
        options = {"beam_size": len(texts), "n_best": len(texts), "max_length": 3, "length_penalty": penalty}
        for row, hypotheses in zip((0, 1), search(model, rows=[0, 1], **options), strict=True):
            ranks = [-sum(log_p) / len(log_p) ** penalty for log_p in scores[row]]
            expected = sorted(zip([not log_p for log_p in ended], ranks, texts, strict=True))
            assert [with_end(log_p) for log_p in hypotheses] == [text for _, _, text in expected]
            assert [-log_p.score for log_p in hypotheses] == pytest.approx(
                [score for _, score, _ in expected], abs=1e-9
            )


@many_steps
@every_model
def test_a_beam_of_1_is_greedy(make) -> None:
    model = ready(make)
    for row, (hypothesis,) in zip(ROWS, search(model, max_length=8), strict=True):
        text: list[int] = []
        while len(text) < 8 and text[-1:] != [END]:
            state = model.start(SOURCE[row : row + 1, : LENGTHS[row]])
            logits, _ = model.step(torch.tensor([[*prompts_of(model)[row], *text]]), state)
            text.append(logits[0, -1].argmax().item())
        assert with_end(hypothesis) == text
        assert hypothesis.ended == (text[-1] == END)


@every_model
@every_kind
def test_scores_are_those_of_a_teacher_forced_pass(make, options) -> None:
    model = ready(make)
    for row, hypotheses in zip(ROWS, search(model, length_penalty=0.7, **options), strict=True):
        assert [hypothesis.score for hypothesis in hypotheses if hypothesis.ended] == sorted(
            (hypothesis.score for hypothesis in hypotheses if hypothesis.ended), reverse=True
        )
        expected = teacher_forced(
            model, row, prompts_of(model)[row], [with_end(hypothesis) for hypothesis in hypotheses]
        )
        for hypothesis, log_p in zip(hypotheses, expected, strict=True):
            assert hypothesis.log_probs == pytest.approx(log_p, abs=1e-9)
            assert hypothesis.total == pytest.approx(sum(log_p), abs=1e-9)
            assert hypothesis.score == pytest.approx(sum(log_p) / len(log_p) ** 0.7, abs=1e-9)


@many_steps
@every_model
@every_kind
def test_results_do_not_depend_on_the_batch(make, options) -> None:
    model = ready(make, seed=1)
    together = search(model, **options)
    for row in ROWS:
        assert_same(search(model, rows=[row], **options), [together[row]])
    assert_same(search(model, rows=[2, 0], **options), [together[2], together[0]])


@many_steps
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), beam=st.integers(1, 4), data=st.data(), penalty=st.sampled_from([0.0, 0.6, 3.0]))
def test_stopping_early_changes_nothing(seed: int, beam: int, data: st.DataObject, penalty: float) -> None:
    model = ready(before, seed)
    options = {"beam_size": beam, "n_best": data.draw(st.integers(1, beam)), "max_length": 9, "length_penalty": penalty}
    early = search(model, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Beams, "is_done", lambda self, live: not live)
        assert_same(early, search(model, **options))


def test_search_stops_when_no_better_hypothesis_is_possible() -> None:
    """Without a length penalty, an ended hypothesis that is likelier than all others is the best."""
    model = ready(before)
    with torch.no_grad():
        model.head.output.bias[END] += 20
    assert calls(model, lambda: search(model, beam_size=4, length_penalty=0.0, max_length=9)) == [(4, 1)]


@every_model
def test_n_best_hypotheses_are_distinct_and_in_order(make) -> None:
    model = ready(make)
    for hypotheses in search(model, beam_size=6, n_best=6):
        assert len(hypotheses) == 6
        assert len({tuple(with_end(hypothesis)) for hypothesis in hypotheses}) == 6
        ranks = [(not hypothesis.ended, -hypothesis.score) for hypothesis in hypotheses]
        assert ranks == sorted(ranks)


def test_of_equal_scores_the_first_token_and_hypothesis_win() -> None:
    model = ready(recurrent_language_model)
    with torch.no_grad():
        for weight in model.head.parameters():
            weight.zero_()
    (hypotheses,) = search(model, rows=[0], end=None, beam_size=3, n_best=3, max_length=2)
    assert [hypothesis.tokens for hypothesis in hypotheses] == [[0, 0], [0, 1], [0, 2]]
    assert hypotheses[0].log_probs == pytest.approx([-math.log(WORDS)] * 2)


@many_steps
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), beam=st.integers(2, 4))
def test_equal_scores_are_ranked_alike_alone_and_in_a_batch(seed: int, beam: int) -> None:
    """A bigram model of few distinct probabilities, so many texts are equally likely; rows end at different steps."""
    random = torch.Generator().manual_seed(seed)
    model = Model(TokenEmbedding(WORDS, WORDS), Identity(WORDS), PerToken(WORDS, WORDS, bias=False)).double().eval()
    with torch.no_grad():
        model.stem.embedding.weight.copy_(torch.randint(3, (WORDS, WORDS), generator=random))
        model.head.output.weight.copy_(torch.eye(WORDS))
    options = Decode(temperature=0, beam_size=beam, n_best=beam, max_length=5)
    prompts = [[0], [1], [2], [3]]
    together = decode(model, None, prompts=prompts, end=END, options=options)
    for prompt, hypotheses in zip(prompts, together, strict=True):
        assert_same(decode(model, None, prompts=[prompt], end=END, options=options), [hypotheses])


# Samples -------------------------------------------------------------------------------------------------------------


@many_steps
@pytest.mark.parametrize("make", LANGUAGE_MODELS.values(), ids=LANGUAGE_MODELS)
def test_a_sample_depends_on_its_seed_and_number_alone(make) -> None:
    model = ready(make)
    options = {"temperature": 1.5, "max_length": 10}
    four = search(model, n_best=4, seed=3, **options)
    for row in ROWS:
        one_by_one = [
            search(model, rows=[row], seed=3, sample_numbers=[number], **options)[0][0] for number in range(4)
        ]
        assert sorted(with_end(sample) for sample in one_by_one) == sorted(with_end(sample) for sample in four[row])
    assert search(model, n_best=4, seed=4, **options)[0][0].tokens != four[0][0].tokens
    assert len({tuple(with_end(sample)) for sample in four[0]}) > 1
