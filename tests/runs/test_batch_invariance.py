"""A trained translator gives a text the same translation alone and in any batch."""

from typing import Any

import pytest

from seqloom.api import start
from seqloom.data.corpora.numbers import in_words
from seqloom.runs.run import Run
from tests.training.small import tiny

pytestmark = pytest.mark.usefixtures("unchecked")

NEAR = 1e-4  # nats: either of two tokens within this distance may be chosen


def train_translator(folder: Any, digits: int, examples: int, **train: Any) -> Run:
    data = {"corpus": "numbers", "corpus_length": digits, "examples": examples}
    model = {"dim": 64, "hidden": 128}
    config = tiny("translate", model=model, data=data, train={"batch_tokens": 2048, **train}, decode={"max_length": 40})
    return start(config, folder / "run")


def differing(run: Run, texts: list[str], **options: Any) -> list[str]:
    """The texts whose translation depends on their batch; each had two hypotheses within `NEAR`."""
    differing_texts = []
    for text, together in zip(texts, run.predict(texts, **options), strict=True):
        alone = run.predict([text], **options)[0]
        if alone["tokens"] == together["tokens"]:
            assert alone["log_probs"] == pytest.approx(together["log_probs"], abs=1e-3)
            continue
        distance = abs(alone["score"] - together["score"])
        if options["beam_size"] == 1:  # greedy: the distance at the first token that differs
            pairs = zip([*alone["tokens"], None], [*together["tokens"], None], strict=False)
            first = next(index for index, (left, right) in enumerate(pairs) if left != right)
            distance = abs(alone["log_probs"][first] - together["log_probs"][first])
        assert distance < NEAR, f"{text}: {alone['translation']!r} alone, {together['translation']!r} in a batch"
        differing_texts.append(text)
    return differing_texts


@pytest.mark.parametrize("beam", [1, 4])
def test_twenty_texts_are_translated_the_same_alone_and_together(beam: int, small_run: Run) -> None:
    texts = [in_words(number, "en") for number in range(0, 100, 5)]
    assert differing(small_run, texts, beam_size=beam) == []


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train_translator(tmp_path_factory.mktemp("few"), 2, 100, steps=40, validate_every=40, lr=0.01)


@pytest.mark.slow
def test_a_thousand_texts_are_translated_the_same_alone_and_together(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = train_translator(tmp_path_factory.mktemp("many"), 5, 8000, steps=700, validate_every=700, lr=0.004)
    assert run.scores["valid"]["exact_match"] > 0.8
    texts = [in_words(number, "en") for number in range(7, 100_000, 100)]
    assert len(texts) == 1000
    for beam in (1, 4):
        changed = differing(run, texts, beam_size=beam)
        print(f"beam {beam}: {len(changed)} of {len(texts)} differ, each by a choice within {NEAR} nats: {changed}")
        assert len(changed) < 10
