"""The rows of a classifier: a text as tokens, and its labels."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from seqloom.core.problem import DataError
from seqloom.data.prepare import SplitExamples, never_in_train
from seqloom.data.schema import AnswerColumn, AnswerLearner, Counts, Schema, TextColumn, TokenColumn, tokenizer_learner
from seqloom.data.source import DataSource
from seqloom.tasks.classify.config import ClassifyData
from seqloom.tasks.label_check import not_in_train, only_one, seen_once

TEXT, LABELS = 0, 1  # which value of an example
GIVE_ANOTHER = "Give examples of another"
TOKENIZER_FILE, LABELS_FILE = "source.json", "labels.json"


@dataclass(frozen=True)
class LabelledTexts(Schema):
    """Refuses labels that nothing can be learned of.

    several: whether a text may have any number of labels, whatever the examples have
    on_rare_label: what to do about a label with a single example
    """

    several: bool = False
    on_rare_label: str | None = None

    def check_answers(self, examples: SplitExamples, counts: Counts, single: bool) -> Collection[str]:
        rare = [label for label, each in counts.items() if each.total() == 1]
        left_out = rare if self.on_rare_label == "skip" else []
        kept = {label: each for label, each in counts.items() if label not in left_out}
        if len(kept) < 2 and single and not self.several:
            problem = only_one("label", kept, GIVE_ANOTHER)
            raise DataError.of(replace(problem, location=examples.source.name))
        if unseen := never_in_train(examples.source, kept):
            problem = not_in_train("label", unseen, "example")
            raise DataError.of(replace(problem, location=str(examples.first_location(unseen[0]))))
        if rare and self.on_rare_label == "refuse":
            raise DataError.of(replace(seen_once(rare), location=str(examples.first_location(rare[0]))))
        return left_out


def schema(data: ClassifyData) -> Schema:
    """The columns of a text with its labels."""
    return LabelledTexts(
        columns=(
            TokenColumn("tokens", TEXT, data.max_length, encoder=TOKENIZER_FILE),
            AnswerColumn("labels", LABELS, encoder=LABELS_FILE),
            TextColumn("texts", TEXT),
        ),
        learners={TOKENIZER_FILE: tokenizer_learner((TEXT,), data, "word"), LABELS_FILE: AnswerLearner((LABELS,))},
        content=TEXT,
        answers=LABELS,
        several=data.label_separator is not None,
        on_rare_label=data.on_rare_label,
    )


def guess_tokenizer(source: DataSource) -> str:
    """What a token is, by the first texts: one word says little, its characters more."""
    if source.corpus and (suited := source.data_spec.corpora[source.corpus].tokenizer):
        return suited
    words = sorted(len(example.values[TEXT].split()) for example in source.first())
    return "character" if words[len(words) // 2 : len(words) // 2 + 1] <= [1] else "word"
