"""One decoder for all models: against brute force, a teacher-forced pass, and itself alone."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.decoding.beam import Places
from seqloom.decoding.decode import decode
from seqloom.decoding.hypothesis import Hypothesis
from seqloom.decoding.tree import Tree
from seqloom.nn.models import EncoderDecoder, Writer
from seqloom.spec.config.decode import Decode
from seqloom.spec.errors import ArgumentError
from tests.decoding.writers import (
    END,
    LANGUAGE,
    LENGTHS,
    SOURCE,
    WORDS,
    all_texts,
    before,
    every_attentive,
    every_writer,
    looked,
    prompts_of,
    ready,
    recurrent_language_model,
    teacher_forced,
    transformer,
    transformer_language_model,
)

ROWS = range(4)
KINDS = {"greedy": {}, "beam": {"beam": 3, "n_best": 3}, "samples": {"temperature": 1.5, "n_best": 3}}
many_steps = pytest.mark.usefixtures("unchecked")  # hundreds, all alike
every_kind = pytest.mark.parametrize("asked", KINDS.values(), ids=KINDS)


def search(model: Writer, *, end: int | None = END, rows=ROWS, **asked) -> list[list[Hypothesis]]:
    """All sources at once, or some; unless said, at temperature 0."""
    rows = list(rows)
    steps = int(LENGTHS[rows].max()) if rows else 0
    beside = {name: asked.pop(name) for name in list(asked) if name not in Decode.model_fields or name == "seed"}
    source = (SOURCE[rows, :steps], LENGTHS[rows]) if isinstance(model, EncoderDecoder) else (None, None)
    prompts = [prompts_of(model)[row] for row in rows]
    options = Decode(**{"temperature": 0.0, "length": 6, **asked})
    return decode(model, *source, prompts=prompts, end=end, options=options, **beside)


def said(hypothesis: Hypothesis) -> list[int]:
    """Its tokens, with the end."""
    return [*hypothesis.tokens, END] if hypothesis.ended else hypothesis.tokens


def assert_same(came: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[said(each) for each in row] for row in came] == [[said(each) for each in row] for row in expected]
    for row, others in zip(came, expected, strict=True):
        assert [each.score for each in row] == pytest.approx([each.score for each in others], abs=1e-9)


# Search --------------------------------------------------------------------------------------------------------------


@many_steps
@every_writer
def test_a_beam_that_holds_all_texts_finds_the_best_of_all(make) -> None:
    model = ready(make)
    texts, ended = zip(*all_texts(steps=3), strict=True)
    scores = {row: teacher_forced(model, row, prompts_of(model)[row], texts) for row in (0, 1)}
    for penalty in (0.0, 1.0, 2.0):
        asked = {"beam": len(texts), "n_best": len(texts), "length": 3, "length_penalty": penalty}
        for row, found in zip((0, 1), search(model, rows=[0, 1], **asked), strict=True):
            ranks = [-sum(each) / len(each) ** penalty for each in scores[row]]
            expected = sorted(zip([not each for each in ended], ranks, texts, strict=True))
            assert [said(each) for each in found] == [text for _, _, text in expected]
            assert [-each.score for each in found] == pytest.approx([score for _, score, _ in expected], abs=1e-9)


@many_steps
@every_writer
def test_one_place_is_greedy(make) -> None:
    model = ready(make)
    for row, (found,) in zip(ROWS, search(model, length=8), strict=True):
        text: list[int] = []
        while len(text) < 8 and text[-1:] != [END]:
            state = model.start(SOURCE[row : row + 1, : LENGTHS[row]])
            logits, _ = model.step(torch.tensor([[*prompts_of(model)[row], *text]]), state)
            text.append(logits[0, -1].argmax().item())
        assert said(found) == text
        assert found.ended == (text[-1] == END)


@every_writer
@every_kind
def test_scores_are_those_of_a_teacher_forced_pass(make, asked) -> None:
    model = ready(make)
    for row, hypotheses in zip(ROWS, search(model, length_penalty=0.7, **asked), strict=True):
        assert [each.score for each in hypotheses if each.ended] == sorted(
            (each.score for each in hypotheses if each.ended), reverse=True
        )
        expected = teacher_forced(model, row, prompts_of(model)[row], [said(each) for each in hypotheses])
        for each, log_p in zip(hypotheses, expected, strict=True):
            assert each.log_probs == pytest.approx(log_p, abs=1e-9)
            assert each.total == pytest.approx(sum(log_p), abs=1e-9)
            assert each.score == pytest.approx(sum(log_p) / len(log_p) ** 0.7, abs=1e-9)


@many_steps
@every_writer
@every_kind
def test_alone_is_as_in_a_batch(make, asked) -> None:
    model = ready(make, seed=1)
    together = search(model, **asked)
    for row in ROWS:
        assert_same(search(model, rows=[row], **asked), [together[row]])
    assert_same(search(model, rows=[2, 0], **asked), [together[2], together[0]])


@many_steps
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), beam=st.integers(1, 4), data=st.data(), penalty=st.sampled_from([0.0, 0.6, 3.0]))
def test_stopping_early_changes_nothing(seed: int, beam: int, data: st.DataObject, penalty: float) -> None:
    model = ready(before, seed)
    asked = {"beam": beam, "n_best": data.draw(st.integers(1, beam)), "length": 9, "length_penalty": penalty}
    early = search(model, **asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Places, "decided", lambda self, live: not live)
        assert_same(early, search(model, **asked))


def test_stops_when_nothing_better_can_come() -> None:
    """Without a length penalty the first text to end is the best if it is likelier than all that go on."""
    model = ready(before)
    with torch.no_grad():
        model.head.output.bias[END] += 20
    assert calls(model, lambda: search(model, beam=4, length_penalty=0.0, length=9)) == [(4, 1)]


@every_writer
def test_the_best_of_a_wider_beam_are_distinct_and_in_order(make) -> None:
    model = ready(make)
    for hypotheses in search(model, beam=6, n_best=6):
        assert len(hypotheses) == 6
        assert len({tuple(said(each)) for each in hypotheses}) == 6
        ranks = [(not each.ended, -each.score) for each in hypotheses]
        assert ranks == sorted(ranks)


def test_equal_scores_go_to_the_first_token_and_text() -> None:
    model = ready(recurrent_language_model)
    with torch.no_grad():
        for weight in model.head.parameters():
            weight.zero_()
    (found,) = search(model, rows=[0], end=None, beam=3, n_best=3, length=2)
    assert [each.tokens for each in found] == [[0, 0], [0, 1], [0, 2]]
    assert found[0].log_probs == pytest.approx([-math.log(WORDS)] * 2)


# Constraints ---------------------------------------------------------------------------------------------------------


@every_kind
def test_a_forced_prefix_is_written_and_scored(asked) -> None:
    model = ready(before)
    prefixes = [[2, 2, 0], [], [1], [3, 0]]
    for row, hypotheses in zip(ROWS, search(model, prefixes=prefixes, no_repeat=1, never=[0], **asked), strict=True):
        for each in hypotheses:
            assert each.tokens[: len(prefixes[row])] == prefixes[row]
            assert 0 not in each.tokens[len(prefixes[row]) :]
            (log_p,) = teacher_forced(model, row, [END], [said(each)])
            assert each.log_probs == pytest.approx(log_p, abs=1e-9)


@every_kind
def test_no_shorter_than_the_least_and_no_longer_than_the_most(asked) -> None:
    model = ready(before)
    with torch.no_grad():
        model.head.output.bias[END] += 3
    lengths = [len(each.tokens) for row in search(model, min_length=3, **asked) for each in row]
    assert min(lengths) == 3
    for row in search(model, min_length=6, **asked):
        assert [(len(each.tokens), len(each.log_probs), each.ended) for each in row] == [(6, 6, False)] * len(row)


@every_kind
@pytest.mark.parametrize("count", [1, 2, 3])
def test_no_sequence_comes_twice(asked, count: int) -> None:
    model = ready(recurrent_language_model)
    for row in search(model, end=None, no_repeat=count, length=20, **asked):
        for each in row:
            runs = [tuple(each.tokens[i : i + count]) for i in range(len(each.tokens) - count + 1)]
            assert len(set(runs)) == len(runs)
            if count == 1:  # when all words were said there is nothing left
                assert sorted(each.tokens) == list(range(WORDS))
                assert not each.ended


@every_kind
def test_what_is_never_to_be_written_is_not(asked) -> None:
    model = ready(before)
    texts = search(model, never=[1, 3], **asked)
    assert {token for row in texts for each in row for token in each.tokens} <= {0, 2}


def test_no_more_than_the_model_can_read() -> None:
    model = ready(transformer)
    assert model.longest == 12
    (found,) = search(model, rows=[0], end=None, length=50)[0]
    assert len(found.tokens) == 12  # the last one need not be read
    assert not found.ended


# Samples -------------------------------------------------------------------------------------------------------------


@many_steps
@pytest.mark.parametrize("make", LANGUAGE.values(), ids=LANGUAGE)
def test_a_sample_depends_on_its_seed_and_number_alone(make) -> None:
    model = ready(make)
    asked = {"temperature": 1.5, "length": 10}
    four = search(model, n_best=4, seed=3, **asked)
    for row in ROWS:
        one_by_one = [search(model, rows=[row], seed=3, numbers=[number], **asked)[0][0] for number in range(4)]
        assert sorted(said(each) for each in one_by_one) == sorted(said(each) for each in four[row])
    assert search(model, n_best=4, seed=4, **asked)[0][0].tokens != four[0][0].tokens
    assert len({tuple(said(each)) for each in four[0]}) > 1


# Cost ----------------------------------------------------------------------------------------------------------------


def calls(model: Writer, run) -> list[tuple[int, int]]:
    """Rows and tokens of every call of `next`."""
    shapes = []
    plain = model.next
    model.next = lambda tokens, *rest: shapes.append(tuple(tokens.shape)) or plain(tokens, *rest)  # type: ignore[method-assign]
    run()
    del model.next
    return shapes


@every_writer
def test_prompts_are_read_once_and_a_step_reads_one_token(make) -> None:
    model = ready(make)
    for asked in ({}, {"beam": 3}, {"temperature": 1.0, "n_best": 3}):
        shapes = calls(model, lambda asked=asked: search(model, end=None, **asked))
        longest = max(map(len, prompts_of(model)))
        wide = 1 if not asked else 3
        assert shapes == [(4, longest)] + [(4 * wide, 1)] * 5


def test_texts_that_have_ended_stop_costing() -> None:
    model = ready(before, seed=3)
    found = []
    shapes = calls(model, lambda: found.extend(search(model, length=9)))
    steps = [len(said(each)) for row in found for each in row]
    assert len(set(steps)) > 1
    assert [rows for rows, _ in shapes] == [sum(n > step for n in steps) for step in range(max(steps))]


def test_a_beam_gives_up_places_as_its_texts_end() -> None:
    model = ready(before, seed=3)
    shapes = calls(model, lambda: search(model, beam=4, n_best=4, length=9))
    rows = [rows for rows, _ in shapes]
    assert rows[0] == 4
    assert max(rows) <= 16
    assert rows[1:] == sorted(rows[1:], reverse=True)
    assert rows[-1] < rows[1]


# Attention -----------------------------------------------------------------------------------------------------------


@every_attentive
@every_kind
def test_attention_is_that_of_a_teacher_forced_pass(make, asked) -> None:
    model = ready(make)
    places = 1 if make is not transformer else 2
    for row, hypotheses in zip(ROWS, search(model, attention=True, **asked), strict=True):
        for each in hypotheses:
            expected = looked(model, row, [END], said(each))
            assert each.attention.keys() == expected.keys()
            assert len(expected) == places
            for place, weights in expected.items():
                torch.testing.assert_close(each.attention[place], weights, rtol=0, atol=1e-9)
            assert each.alignment.shape == (len(said(each)), LENGTHS[row])
            torch.testing.assert_close(each.alignment.sum(dim=1), torch.ones(len(said(each))).double())


def test_attention_after_prompts_of_unequal_length() -> None:
    model = ready(before)
    prompts = [[END], [1, 2, 3], [END, 0]]
    options = Decode(temperature=0, length=4)
    found = decode(model, SOURCE[:3], LENGTHS[:3], prompts=prompts, end=END, options=options, attention=True)
    for row, (each,) in enumerate(found):
        (expected,) = looked(model, row, prompts[row], said(each)).values()
        (weights,) = each.attention.values()
        torch.testing.assert_close(weights, expected, rtol=0, atol=1e-9)


def test_attention_changes_no_text_and_is_absent_unless_asked_for() -> None:
    model = ready(transformer)
    plain, looking = search(model, beam=3), search(model, beam=3, attention=True)
    assert_same(plain, looking)
    assert plain[0][0].attention is None
    assert plain[0][0].alignment is None
    language = search(ready(transformer_language_model), attention=True)[0][0]
    assert language.attention == {}
    assert language.alignment is None


# The tree ------------------------------------------------------------------------------------------------------------


def test_the_tree_has_all_that_was_kept_and_pruned() -> None:
    model, trees = ready(before), []
    found = search(model, beam=3, n_best=3, trees=trees, length=5)
    assert_same(found, search(model, beam=3, n_best=3, length=5))
    assert len(trees) == 4
    for row, tree in zip(ROWS, trees, strict=True):
        check_tree(tree, model, row)
        ended = {tuple(tree.path(i)) for i, each in enumerate(tree.candidates) if each.fate == "ended"}
        assert ended == {tuple(said(each)) for each in found[row] if each.ended}
        kept = {tuple(tree.path(i)) for i, each in enumerate(tree.candidates) if each.fate == "kept"}
        assert {tuple(each.tokens) for each in found[row] if not each.ended} <= kept


def check_tree(tree: Tree, model: Writer, row: int) -> None:
    paths = [tree.path(number) for number in range(len(tree.candidates))]
    for path, each, log_p in zip(paths, tree.candidates, teacher_forced(model, row, [END], paths), strict=True):
        assert len(path) == each.step + 1
        assert (each.log_prob, each.total) == pytest.approx((log_p[-1], sum(log_p)), abs=1e-9)
        if each.parent is not None:
            assert tree.candidates[each.parent].fate == "kept"
    for step in {each.step for each in tree.candidates}:
        here = [each for each in tree.candidates if each.step == step]
        pruned = [each.total for each in here if each.fate == "pruned"]
        taken = [each.total for each in here if each.fate != "pruned"]
        assert len(taken) <= 3
        assert max(pruned, default=-math.inf) <= min(taken)


# Bad input -----------------------------------------------------------------------------------------------------------


def test_no_source_no_text() -> None:
    assert search(ready(recurrent_language_model), rows=[]) == []


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            {"beam": 2, "temperature": 0.5},
            "options has a beam of 2 and a temperature of 0.5; expected temperature 0",
        ),
        ({"beam": 2, "n_best": 3}, "n_best 3 and a beam of 2; expected n_best up to the beam: raise the beam to 3."),
        ({"prefixes": [[1]]}, "decode: prefixes has 1 of them; expected 4, one a prompt."),
        ({"numbers": [1, 2]}, "decode: numbers has 2 of them; expected 4, one a prompt."),
    ],
)
def test_bad_input_is_a_sentence(asked, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        search(ready(before), **asked)


def test_an_empty_prompt_is_a_sentence() -> None:
    with pytest.raises(ArgumentError, match=r"decode: prompts\[1\] has no tokens; expected at least one"):
        decode(ready(before), SOURCE[:2], prompts=[[END], []], end=END, options=Decode(temperature=0))


@every_kind
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_scores_that_are_no_numbers_are_a_sentence(asked, wrong: float) -> None:
    model = ready(before)
    with torch.no_grad():
        model.head.output.bias[2] = wrong
    with pytest.raises(ArgumentError, match="decode: logits has no finite largest value"):
        search(model, **asked)
