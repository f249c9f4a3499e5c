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
def test_a_forced_prefix_is_written_and_scored(options) -> None:
    model = ready(before)
    prefixes = [[2, 2, 0], [], [1], [3, 0]]
    for row, hypotheses in zip(
        ROWS, search(model, prefixes=prefixes, no_repeat_ngram=1, banned=[0], **options), strict=True
    ):
        for each in hypotheses:
            assert each.tokens[: len(prefixes[row])] == prefixes[row]
            assert 0 not in each.tokens[len(prefixes[row]) :]
            (log_p,) = teacher_forced(model, row, [END], [with_end(each)])
            assert each.log_probs == pytest.approx(log_p, abs=1e-9)


@every_kind
def test_no_shorter_than_the_least_and_no_longer_than_the_most(options) -> None:
    model = ready(before)
    with torch.no_grad():
        model.head.output.bias[END] += 3
    for min_length in (2, 3):
        results = search(model, min_length=min_length, **options)
        assert min(len(hypothesis.tokens) for row in results for hypothesis in row) == min_length
    for row in search(model, min_length=6, **options):
        assert [(len(each.tokens), len(each.log_probs), each.ended) for each in row] == [(6, 6, False)] * len(row)


@every_kind
@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_sequence_comes_twice(options, count: int) -> None:
    model = ready(recurrent_language_model)
    for row in search(model, end=None, no_repeat_ngram=count, max_length=20, **options):
        for each in row:
            runs = [tuple(each.tokens[i : i + count]) for i in range(len(each.tokens) - count + 1)]
            assert len(set(runs)) == len(runs)
            if count == 1:  # after all words there is nothing left
                assert sorted(each.tokens) == list(range(WORDS))
                assert not each.ended


@every_kind
def test_what_is_never_to_be_written_is_not(options) -> None:
    model = ready(before)
    texts = search(model, banned=[1, 3], **options)
    assert {token for row in texts for each in row for token in each.tokens} <= {0, 2}


def slid(model: GenerativeModel, prompt: list[int], tokens: list[int], window: int) -> list[float]:
    """log p of each token, all before it read anew: at most a window, then its last half and what follows."""
    read, scores = prompt[-window:], []
    for token in tokens:
        if len(read) > window:
            read = read[-(window // 2) :]
        given = torch.tensor([read])
        with torch.no_grad():
            logits, _ = model.next_token_logits(given, model.start(given))
        scores.append(logits.log_softmax(dim=1)[0, token].item())
        read = [*read, token]
    return scores


@many_steps
@every_kind
def test_a_language_model_writes_on_past_its_window(options) -> None:
    model, prompts = ready(transformer_language_model), [[1, 2, 3, 0, 1, 2], [3], [0, 1]]
    options = Decode(**{"temperature": 0.0, "max_length": 11, **options})
    found = decode(model, None, prompts=prompts, end=None, options=options, context=5)
    for prompt, hypotheses in zip(prompts, found, strict=True):
        for each in hypotheses:
            assert len(each.tokens) == 11
            assert each.log_probs == pytest.approx(slid(model, prompt, each.tokens, 5), abs=1e-9)
    alone = [decode(model, None, prompts=[prompt], end=None, options=options, context=5)[0] for prompt in prompts]
    assert_same(alone, found)


def test_no_more_than_the_model_can_read() -> None:
    model = ready(transformer)
    assert model.max_length == 12
    (found,) = search(model, rows=[0], end=None, max_length=50)[0]
    assert len(found.tokens) == 12  # the last one need not be read
    assert not found.ended


# Cost ----------------------------------------------------------------------------------------------------------------


@every_model
def test_prompts_are_read_once_and_a_step_reads_one_token(make) -> None:
    model = ready(make)
    for options in ({}, {"beam_size": 3}, {"temperature": 1.0, "n_best": 3}):
        shapes = calls(model, lambda options=options: search(model, end=None, **options))
        longest = max(map(len, prompts_of(model)))
        wide = 1 if not options else 3
        assert shapes == [(4, longest)] + [(4 * wide, 1)] * 5


def test_texts_that_have_ended_stop_costing() -> None:
    model = ready(before, seed=3)
    found = []
    shapes = calls(model, lambda: found.extend(search(model, max_length=9)))
    steps = [len(with_end(each)) for row in found for each in row]
    assert len(set(steps)) > 1
    assert [rows for rows, _ in shapes] == [sum(n > step for n in steps) for step in range(max(steps))]


def test_a_beam_gives_up_places_as_its_texts_end() -> None:
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
    places = 1 if make is not transformer else 2
    for row, hypotheses in zip(ROWS, search(model, attention=True, **options), strict=True):
        for each in hypotheses:
            expected = teacher_forced_attention(model, row, [END], with_end(each))
            assert each.attention.keys() == expected.keys()
            assert len(expected) == places
            for place, weights in expected.items():
                torch.testing.assert_close(each.attention[place], weights, rtol=0, atol=1e-9)
            assert each.alignment.shape == (len(with_end(each)), LENGTHS[row])
            torch.testing.assert_close(each.alignment.sum(dim=1), torch.ones(len(with_end(each))).double())


def test_attention_after_prompts_of_unequal_length() -> None:
    model = ready(before)
    prompts = [[END], [1, 2, 3], [END, 0]]
    options = Decode(temperature=0, max_length=4)
    found = decode(model, SOURCE[:3], LENGTHS[:3], prompts=prompts, end=END, options=options, attention=True)
    for row, (each,) in enumerate(found):
        (expected,) = teacher_forced_attention(model, row, prompts[row], with_end(each)).values()
        (weights,) = each.attention.values()
        torch.testing.assert_close(weights, expected, rtol=0, atol=1e-9)


def test_attention_changes_no_text_and_is_absent_unless_asked_for() -> None:
    model = ready(transformer)
    plain, looking = search(model, beam_size=3), search(model, beam_size=3, attention=True)
    assert_same(plain, looking)
    assert plain[0][0].attention is None
    assert plain[0][0].alignment is None
    language = search(ready(transformer_language_model), attention=True)[0][0]
    assert language.attention == {}
    assert language.alignment is None


# The tree ------------------------------------------------------------------------------------------------------------


def test_the_tree_has_all_that_was_kept_and_pruned() -> None:
    model, trees = ready(before), []
    found = search(model, beam_size=3, n_best=3, trees=trees, max_length=5)
    assert_same(found, search(model, beam_size=3, n_best=3, max_length=5))
    assert len(trees) == 4
    for row, tree in zip(ROWS, trees, strict=True):
        check_tree(tree, model, row)
        ended = {tuple(tree.path(i)) for i, each in enumerate(tree.candidates) if each.status == "ended"}
        assert ended == {tuple(with_end(each)) for each in found[row] if each.ended}
        kept = {tuple(tree.path(i)) for i, each in enumerate(tree.candidates) if each.status == "kept"}
        assert {tuple(each.tokens) for each in found[row] if not each.ended} <= kept


def check_tree(tree: SearchTree, model: GenerativeModel, row: int) -> None:
    paths = [tree.path(number) for number in range(len(tree.candidates))]
    for path, each, log_p in zip(paths, tree.candidates, teacher_forced(model, row, [END], paths), strict=True):
        assert len(path) == each.step + 1
        assert (each.log_prob, each.total) == pytest.approx((log_p[-1], sum(log_p)), abs=1e-9)
        if each.parent is not None:
            assert tree.candidates[each.parent].status == "kept"
    for step in {each.step for each in tree.candidates}:
        here = [each for each in tree.candidates if each.step == step]
        pruned = [each.total for each in here if each.status == "pruned"]
        taken = [each.total for each in here if each.status != "pruned"]
        assert len(taken) <= 3
        assert max(pruned, default=-math.inf) <= min(taken)


# Bad input -----------------------------------------------------------------------------------------------------------


def test_no_source_no_text() -> None:
    assert search(ready(recurrent_language_model), rows=[]) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
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
def test_bad_input_is_a_sentence(options, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        search(ready(before), **options)


def test_an_empty_prompt_is_a_sentence() -> None:
    with pytest.raises(ArgumentError, match=r"decode: prompts\[1\] has no tokens; expected at least one"):
        decode(ready(before), SOURCE[:2], prompts=[[END], []], end=END, options=Decode(temperature=0))


@every_kind
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_scores_that_are_no_numbers_are_a_sentence(options, wrong: float) -> None:
    model = ready(before)
    with torch.no_grad():
        model.head.output.bias[2] = wrong
    with pytest.raises(ArgumentError, match="decode: logits has no finite largest value"):
        search(model, **options)
