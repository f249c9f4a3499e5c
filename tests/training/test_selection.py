"""The rule that selects the best validation, against a search over all of them."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.training.selection import Selection
from seqloom.training.trainer_state import Candidate, Progress

FEW = st.integers(0, 8).map(float)  # so that ties are frequent
SCORES = st.one_of(FEW, st.just(math.nan))
LOSSES = st.one_of(FEW.map(lambda loss: loss / 4), st.just(math.inf))
RULES = st.builds(Selection, st.sampled_from([None, 0.0, 0.25, 0.5, 1.0]), st.booleans())


def best_of(validations: list[Candidate], rule: Selection) -> int:
    """The step of the best validation, by comparison of each with all others."""
    limit = math.inf if rule.margin is None else min(validation.loss for validation in validations) + rule.margin
    sign = 1.0 if rule.higher_is_better else -1.0
    best: Candidate | None = None
    for validation in validations:
        score = -math.inf if math.isnan(validation.score) else sign * validation.score
        if validation.loss > limit:
            continue
        best_score = -math.inf if best is None or math.isnan(best.score) else sign * best.score
        if best is None or (score, -validation.loss) > (best_score, -best.loss):
            best = validation
    assert best is not None
    return best.step


@given(st.lists(st.tuples(SCORES, LOSSES), min_size=1, max_size=12), RULES)
def test_the_best_of_the_candidates_is_the_best_of_all_validations(
    pairs: list[tuple[float, float]], rule: Selection
) -> None:
    """After each validation, whatever was left out before."""
    validations = [Candidate(step, *pair) for step, pair in enumerate(pairs, 1)]
    progress = Progress()
    for count, validation in enumerate(validations, 1):
        lowest = progress.lowest_loss
        improved = rule.add(progress, validation)
        assert progress.candidates[0].step == best_of(validations[:count], rule)
        assert progress.lowest_loss == min(v.loss for v in validations[:count])
        lower = rule.margin is not None and validation.loss < lowest
        assert improved == (lower or progress.best is validation)


@given(st.lists(st.tuples(FEW, LOSSES), min_size=1, max_size=12), RULES)
def test_each_candidate_may_become_the_best(pairs: list[tuple[float, float]], rule: Selection) -> None:
    """No checkpoint is kept in vain: a lower loss with the worst score makes each of them the best in turn."""
    progress = Progress()
    for step, pair in enumerate(pairs, 1):
        rule.add(progress, Candidate(step, *pair))
    worst = -1.0 if rule.higher_is_better else 99.0
    for candidate in progress.candidates[1:]:
        assert rule.margin is not None
        later = replace(progress, candidates=list(progress.candidates))
        rule.add(later, Candidate(99, worst, candidate.loss - rule.margin))
        assert later.best == candidate


@pytest.mark.parametrize("higher", [True, False])
def test_without_a_margin_the_score_alone_decides(higher: bool) -> None:
    rule, progress = Selection(None, higher), Progress()
    first, second = Candidate(1, 3.0, 9.0), Candidate(2, 2.0, 1.0)
    rule.add(progress, first)
    rule.add(progress, second)
    assert progress.candidates == [first if higher else second]
