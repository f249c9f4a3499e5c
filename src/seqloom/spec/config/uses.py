"""Which keys do something where: one that would change nothing is refused where it is said, and is not written down."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqloom.spec import names

if TYPE_CHECKING:
    from seqloom.spec.config.experiment import Experiment

# Keys that only some tasks have a use for.
USED_BY: dict[str, tuple[str, ...]] = {
    "data.languages": ("classify",),
    "data.text": ("classify",),
    "data.label": ("classify",),
    "data.header": ("classify", "translate", "caption"),
    "data.label_separator": ("classify",),
    "data.source_language": ("translate",),
    "data.target_language": ("translate",),
    "data.source": ("translate", "caption"),
    "data.target": ("translate", "caption"),
    "data.shared_vocabulary": ("translate",),
    "data.max_ratio": ("translate",),
    "data.on_ratio": ("translate",),
    "data.on_bad_image": ("caption",),
    "data.image_size": ("caption",),
    "data.on_bad_line": ("classify", "tag", "translate", "caption"),
    "data.on_rare_label": ("classify",),
    "data.tokeniser": ("language", "classify", "translate", "caption"),
    "data.sample": ("language", "classify", "translate", "caption"),
    "data.tag": ("tag",),
    "data.max_length": ("classify", "tag", "translate", "caption"),
    "data.max_characters": ("classify", "tag", "translate", "caption"),
    "model.tied": ("language", "translate", "caption"),
    "model.encoder": ("translate", "caption"),
    "model.encoder_depth": ("translate", "caption"),
    "model.attention": ("translate", "caption"),
    "model.attend": ("translate", "caption"),
    "model.bridge": ("translate", "caption"),
    "model.summary": ("translate", "caption"),
    "model.meeting": ("translate", "caption"),
    "model.feed": ("translate", "caption"),
    "model.input_feeding": ("translate", "caption"),
    "model.stem": ("caption",),
    "model.stages": ("caption",),
    "model.image_width": ("caption",),
    "model.patch": ("caption",),
    "model.pool": ("classify",),
    "model.crf": ("tag",),
    "model.characters": ("tag",),
    "model.character_width": ("tag",),
    "train.bptt": ("language",),
    "train.bptt_drawn": ("language",),
    "train.carry": ("language",),
    "train.loss_at": ("language", "classify"),
    "train.samples": ("language",),
    "train.scheduled_sampling": ("translate", "caption"),
    "train.doubly_stochastic": ("translate", "caption"),
    "decode.n_best": ("translate", "caption"),
}

# Keys about files, which an embedded corpus has no use for.
OF_FILES = (
    *("format", "text", "label", "header", "label_separator", "tag", "source", "target"),
    *("on_bad_line", "on_bad_image", "max_characters"),
)

TABLES = ("auto", "csv", "tsv", "jsonl")
LEARNED = (None, "character", "word", "bpe")
OFF = (None, False)
NO_FILES: tuple[object, ...] = ((),)

# Keys that do something only beside some values of another key. An architecture without that other key sets no limit.
USED_WITH: dict[str, tuple[tuple[str, tuple[object, ...]], ...]] = {
    "data.length": (("data.train", NO_FILES),),
    "data.examples": (("data.train", NO_FILES),),
    "data.languages": (("data.train", NO_FILES), ("data.corpus", (None, "numbers"))),
    "data.source_language": (("data.train", NO_FILES), ("data.corpus", (None, "numbers"))),
    "data.target_language": (("data.train", NO_FILES), ("data.corpus", (None, "numbers"))),
    "data.source": (("data.format", TABLES),),
    "data.target": (("data.format", TABLES),),
    "data.text": (("data.format", TABLES),),
    "data.label": (("data.format", TABLES),),
    "data.header": (("data.format", TABLES[:3]),),
    "data.label_separator": (("data.format", TABLES),),
    "data.valid_share": (("data.valid", NO_FILES),),
    "data.test_share": (("data.test", NO_FILES),),
    "data.vocabulary": (("data.tokeniser", LEARNED),),
    "data.min_count": (("data.tokeniser", LEARNED),),
    "data.sample": (("data.tokeniser", LEARNED),),
    "model.attend": (("model.attention", names.SCORES),),
    "model.summary": (("model.attention", (None, "none")),),
    "model.encoder_depth": (("model.encoder", names.ENCODERS[1:]),),
    "model.bidirectional": (("model.encoder", (None, *names.CELLS)),),
    "model.stages": (("model.stem", ("grid",)),),
    "model.image_width": (("model.stem", ("grid",)),),
    "model.patch": (("model.stem", ("patches",)),),
    "model.activation": (("model.gate", ("none",)),),
    "model.recurrent_init": (("model.init", names.SCHEMES),),
    "model.order": (("model.norm", tuple(norm for norm in names.NORMS if norm != "none")),),
    "model.character_width": (("model.characters", names.CHARACTER_ENCODERS),),
    "train.bptt_drawn": (("train.carry", (True,)),),
    "train.doubly_stochastic": (("model.attention", names.SCORES),),
    "train.momentum": (("train.optimiser", ("momentum", "rmsprop")),),
    "train.beta1": (("train.optimiser", ("adam", "adamw")),),
    "train.beta2": (("train.optimiser", ("rmsprop", "adam", "adamw")),),
    "train.epsilon": (("train.optimiser", ("adagrad", "rmsprop", "adam", "adamw")),),
    "train.l2": (("train.optimiser", tuple(name for name in names.OPTIMISERS if name != "adamw")),),
    "train.decay": (("train.optimiser", ("adamw",)),),
    "train.halve_every": (("train.schedule", ("halve", "plateau")),),
    "train.floor": (("train.schedule", ("cosine",)),),
    "decode.top_k": (("decode.beam", (1,)),),
    "decode.top_p": (("decode.beam", (1,)),),
    "decode.min_p": (("decode.beam", (1,)),),
    "decode.seed": (("decode.beam", (1,)),),
    "train.label_smoothing": (("model.crf", OFF), ("data.label_separator", OFF)),
}

DRAW = "Leave it out, or draw a text with decode.temperature"
INSTEAD = {
    "train.l2": "Give train.decay instead",
    "train.decay": "Give train.l2 instead",
    **dict.fromkeys(("decode.top_k", "decode.top_p", "decode.min_p", "decode.seed"), DRAW),
}


@dataclass(frozen=True)
class Useless:
    """A key that changes nothing, why, and which other key decided that."""

    key: str
    why: str
    decided_by: str

    @property
    def sentence(self) -> str:
        """For who said it."""
        return f"{self.key} has no use {self.why}. {INSTEAD.get(self.key, 'Leave it out')}."


def useless(whole: "Experiment") -> Iterator[Useless]:
    """The keys that change nothing in this experiment; one may come twice."""
    for key, tasks in USED_BY.items():
        if whole.task not in tasks:
            yield Useless(key, f"in {whole.task}; it is a key of {' and '.join(tasks)}", "task")
    if not (whole.data.train or whole.data.valid or whole.data.test):
        for name in OF_FILES:
            yield Useless(f"data.{name}", "without a file to read, and none is named", "data.corpus")
    for key, needs in USED_WITH.items():
        for other, values in needs:
            part, _, name = other.partition(".")
            current = getattr(getattr(whole, part), name, values[0])
            if current not in values:
                yield Useless(key, beside(other, current, values), other)


def beside(other: str, current: object, values: tuple[object, ...]) -> str:
    """Which value of the other key is in the way, and which are not.

    >>> beside("train.schedule", "halve", ("cosine",)), beside("model.init", None, ("normal",))
    ('with train.schedule halve; it goes with cosine', 'without model.init')
    >>> beside("decode.beam", 4, (1,))
    'with decode.beam 4; it goes with 1'
    """
    words = [str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)]
    if not current:
        return f"without {other}"
    return f"with {other} {current}; it goes with {', '.join(words)}" if words else f"together with {other}"
