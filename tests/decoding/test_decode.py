"""`decode`: constraints, windows, cost, attention, the search tree, invalid input."""

import math

import pytest
import torch

from seqloom.core.config.decode import Decode
from seqloom.core.problem import ArgumentError
from seqloom.decoding.decode import decode
from seqloom.decoding.hypothesis import SearchTree
from seqloom.nn.model import GenerativeModel
from tests.decoding.models import (
    END,
    LENGTHS,
    SOURCE,
    WORDS,
    before,
    every_encoder_decoder,
    every_model,
    prompts_of,
    ready,
    recurrent_language_model,
    teacher_forced,
    teacher_forced_attention,
    transformer,
    transformer_language_model,
)
from tests.decoding.searching import ROWS, assert_same, calls, every_kind, many_steps, search, with_end

# Constraints ---------------------------------------------------------------------------------------------------------


@every_kind
def test_a_forced_prefix_is_generated_and_scored(options) -> None:
    model = ready(before)
    prefixes = [[2, 2, 0], [], [1], [3, 0]]
    for row, hypotheses in zip(
        ROWS, search(model, prefixes=prefixes, no_repeat_ngram=1, banned=[0], **options), strict=True
    ):
        for hypothesis in hypotheses:
            assert hypothesis.tokens[: len(prefixes[row])] == prefixes[row]
            assert 0 not in hypothesis.tokens[len(prefixes[row]) :]
            (log_p,) = teacher_forced(model, row, [END], [with_end(hypothesis)])
            assert hypothesis.log_probs == pytest.approx(log_p, abs=1e-9)


@every_kind
def test_lengths_are_between_min_length_and_max_length(options) -> None:
    model = ready(before)
    with torch.no_grad():
        model.head.output.bias[END] += 3
    for min_length in (2, 3):
        results = search(model, min_length=min_length, **options)
        assert min(len(hypothesis.tokens) for row in results for hypothesis in row) == min_length
    for row in search(model, min_length=6, **options):
        assert [(len(hypothesis.tokens), len(hypothesis.log_probs), hypothesis.ended) for hypothesis in row] == [
            (6, 6, False)
        ] * len(row)


@every_kind
@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_ngram_is_repeated(options, count: int) -> None:
    model = ready(recurrent_language_model)
    for row in search(model, end=None, no_repeat_ngram=count, max_length=20, **options):
        for hypothesis in row:
            ngrams = [tuple(hypothesis.tokens[i : i + count]) for i in range(len(hypothesis.tokens) - count + 1)]
            assert len(set(ngrams)) == len(ngrams)
            if count == 1:  # no token is left after all words
                assert sorted(hypothesis.tokens) == list(range(WORDS))
                assert not hypothesis.ended


@every_kind
def test_banned_tokens_are_never_generated(options) -> None:
    model = ready(before)
    results = search(model, banned=[1, 3], **options)
    assert {token for row in results for hypothesis in row for token in hypothesis.tokens} <= {0, 2}


def sliding_window_log_probs(model: GenerativeModel, prompt: list[int], tokens: list[int], window: int) -> list[float]:
    """log p of each token, recomputed from a prefix of at most `window` tokens, or its last half when it is full."""
    prefix, scores = prompt[-window:], []
    for token in tokens:
        if len(prefix) > window:
            prefix = prefix[-(window // 2) :]
        inputs = torch.tensor([prefix])
        with torch.no_grad():
            logits, _ = model.next_token_logits(inputs, model.start(inputs))
        scores.append(logits.log_softmax(dim=1)[0, token].item())
        prefix = [*prefix, token]
    return scores


@many_steps
@every_kind
def test_a_language_model_continues_past_its_window(options) -> None:
    model, prompts = ready(transformer_language_model), [[1, 2, 3, 0, 1, 2], [3], [0, 1]]
    options = Decode(**{"temperature": 0.0, "max_length": 11, **options})
    results = decode(model, None, prompts=prompts, end=None, options=options, context=5)
    for prompt, hypotheses in zip(prompts, results, strict=True):
        for hypothesis in hypotheses:
            assert len(hypothesis.tokens) == 11
            assert hypothesis.log_probs == pytest.approx(
                sliding_window_log_probs(model, prompt, hypothesis.tokens, 5), abs=1e-9
            )
    alone = [decode(model, None, prompts=[prompt], end=None, options=options, context=5)[0] for prompt in prompts]
    assert_same(alone, results)


def test_generation_stops_at_the_maximum_length_of_the_model() -> None:
    model = ready(transformer)
    assert model.max_length == 12
    (hypothesis,) = search(model, rows=[0], end=None, max_length=50)[0]
    assert len(hypothesis.tokens) == 12  # the last token is not an input
    assert not hypothesis.ended


# Cost ----------------------------------------------------------------------------------------------------------------


@every_model
def test_prompts_are_processed_once_and_each_step_processes_one_token(make) -> None:
    model = ready(make)
    for options in ({}, {"beam_size": 3}, {"temperature": 1.0, "n_best": 3}):
        shapes = calls(model, lambda options=options: search(model, end=None, **options))
        longest = max(map(len, prompts_of(model)))
        wide = 1 if not options else 3
        assert shapes == [(4, longest)] + [(4 * wide, 1)] * 5


def test_ended_hypotheses_leave_the_batch() -> None:
    model = ready(before, seed=3)
    results = []
    shapes = calls(model, lambda: results.extend(search(model, max_length=9)))
    steps = [len(with_end(hypothesis)) for row in results for hypothesis in row]
    assert len(set(steps)) > 1
    assert [rows for rows, _ in shapes] == [sum(n > step for n in steps) for step in range(max(steps))]


def test_the_beam_shrinks_as_hypotheses_end() -> None:
    model = ready(before, seed=3)
    shapes = calls(model, lambda: search(model, beam_size=4, n_best=4, max_length=9))
    rows = [rows for rows, _ in shapes]
    assert rows[0] == 4
    assert max(rows) <= 16
    assert rows[1:] == sorted(rows[1:], reverse=True)
    assert rows[-1] < rows[1]


# Attention -----------------------------------------------------------------------------------------------------------


@every_encoder_decoder
@every_kind
def test_attention_is_that_of_a_teacher_forced_pass(make, options) -> None:
    model = ready(make)
    layers = 1 if make is not transformer else 2
    for row, hypotheses in zip(ROWS, search(model, attention=True, **options), strict=True):
        for hypothesis in hypotheses:
            expected = teacher_forced_attention(model, row, [END], with_end(hypothesis))
            assert hypothesis.attention.keys() == expected.keys()
            assert len(expected) == layers
            for name, weights in expected.items():
                torch.testing.assert_close(hypothesis.attention[name], weights, rtol=0, atol=1e-9)
            assert hypothesis.alignment.shape == (len(with_end(hypothesis)), LENGTHS[row])
            torch.testing.assert_close(hypothesis.alignment.sum(dim=1), torch.ones(len(with_end(hypothesis))).double())


def test_attention_after_prompts_of_unequal_length() -> None:
    model = ready(before)
    prompts = [[END], [1, 2, 3], [END, 0]]
    options = Decode(temperature=0, max_length=4)
    results = decode(model, SOURCE[:3], LENGTHS[:3], prompts=prompts, end=END, options=options, attention=True)
    for row, (hypothesis,) in enumerate(results):
        (expected,) = teacher_forced_attention(model, row, prompts[row], with_end(hypothesis)).values()
        (weights,) = hypothesis.attention.values()
        torch.testing.assert_close(weights, expected, rtol=0, atol=1e-9)


def test_attention_changes_no_result_and_is_returned_on_request_only() -> None:
    model = ready(transformer)
    plain, with_attention = search(model, beam_size=3), search(model, beam_size=3, attention=True)
    assert_same(plain, with_attention)
    assert plain[0][0].attention is None
    assert plain[0][0].alignment is None
    language = search(ready(transformer_language_model), attention=True)[0][0]
    assert language.attention == {}
    assert language.alignment is None


# The tree ------------------------------------------------------------------------------------------------------------


def test_the_tree_has_all_kept_and_pruned_candidates() -> None:
    model, trees = ready(before), []
    results = search(model, beam_size=3, n_best=3, trees=trees, max_length=5)
    assert_same(results, search(model, beam_size=3, n_best=3, max_length=5))
    assert len(trees) == 4
    for row, tree in zip(ROWS, trees, strict=True):
        check_tree(tree, model, row)
        ended = {tuple(tree.path(i)) for i, candidate in enumerate(tree.candidates) if candidate.status == "ended"}
        assert ended == {tuple(with_end(candidate)) for candidate in results[row] if candidate.ended}
        kept = {tuple(tree.path(i)) for i, candidate in enumerate(tree.candidates) if candidate.status == "kept"}
        assert {tuple(candidate.tokens) for candidate in results[row] if not candidate.ended} <= kept


def check_tree(tree: SearchTree, model: GenerativeModel, row: int) -> None:
    paths = [tree.path(number) for number in range(len(tree.candidates))]
    for path, candidate, log_p in zip(paths, tree.candidates, teacher_forced(model, row, [END], paths), strict=True):
        assert len(path) == candidate.step + 1
        assert (candidate.log_prob, candidate.total) == pytest.approx((log_p[-1], sum(log_p)), abs=1e-9)
        if candidate.parent is not None:
            assert tree.candidates[candidate.parent].status == "kept"
    for step in {candidate.step for candidate in tree.candidates}:
        of_step = [candidate for candidate in tree.candidates if candidate.step == step]
        pruned = [candidate.total for candidate in of_step if candidate.status == "pruned"]
        kept = [candidate.total for candidate in of_step if candidate.status != "pruned"]
        assert len(kept) <= 3
        assert max(pruned, default=-math.inf) <= min(kept)


# Invalid input -------------------------------------------------------------------------------------------------------


def test_without_sources_there_are_no_results() -> None:
    assert search(ready(recurrent_language_model), rows=[]) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"beam_size": 2, "temperature": 0.5},
            "options has a beam of 2 and a temperature of 0.5; expected temperature 0",
        ),
        (
            {"beam_size": 2, "n_best": 3},
            "n_best 3 and a beam of 2; expected n_best up to the beam: raise the beam to 3.",
        ),
        ({"prefixes": [[1]]}, "decode: prefixes has length 1; expected 4, one per prompt."),
        ({"sample_numbers": [1, 2]}, "decode: sample_numbers has length 2; expected 4, one per prompt."),
        ({"context": 0}, "decode: context is 0; expected at least 1."),
        ({"prefixes": [[0] * 7, [], [], []]}, r"prefixes\[0\] has 7 tokens; expected at most 6, the most steps"),
        ({"prefixes": [[], [1, 5], [], []]}, r"prefixes\[1\] has the token 5; expected 0 to 4."),
        ({"prefixes": [[], [1, 4, 2], [], []]}, r"prefixes\[1\] has the end, 4, before its last token; expected no"),
    ],
)
def test_invalid_input_is_an_error(options, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        search(ready(before), **options)


def test_an_empty_prompt_is_an_error() -> None:
    with pytest.raises(ArgumentError, match=r"decode: prompts\[1\] has no tokens; expected at least one"):
        decode(ready(before), SOURCE[:2], prompts=[[END], []], end=END, options=Decode(temperature=0))


@every_kind
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_logits_that_are_not_finite_are_an_error(options, value: float) -> None:
    model = ready(before)
    with torch.no_grad():
        model.head.output.bias[2] = value
    with pytest.raises(ArgumentError, match="decode: logits has no finite largest value"):
        search(model, **options)
