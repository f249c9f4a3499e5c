"""One experiment: all that decides how a run ends, in one frozen value, composed for a task and a model family."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Self

from pydantic import SerializerFunctionWrapHandler, create_model, model_serializer, model_validator

from seqloom.core.config.applicability import unused_keys, without_keys
from seqloom.core.config.data import DataSection
from seqloom.core.config.decode import DecodeSection
from seqloom.core.config.section import Section, Values, key, section_of, with_defaults
from seqloom.core.config.train import ComparedTrain, Train
from seqloom.core.names import SIZES
from seqloom.core.problem import ArgumentError, ConfigError, KeyName, Problem, conflict
from seqloom.core.registry import not_a_choice
from seqloom.data.formats import AUTO, formats_read
from seqloom.data.spec import DataSpec
from seqloom.models.family import Family, Use
from seqloom.models.layer_builder import builder_of
from seqloom.tasks.metrics.registry import METRICS
from seqloom.tasks.registry import TASKS

SECTIONS = ("data", "model", "train", "decode")


@dataclass(frozen=True)
class Help:
    """What a task is, for someone who meets it for the first time.

    paragraph: what it learns, what it reads, what is measured, and how the trained model is used
    file: a name that such a file may have
    option: that one would try
    more: files of other splits
    input_advice: to who gave a run an empty input
    file_advice: to who gave a run a file without an input; a line is an input
    """

    paragraph: str
    file: str
    option: str
    more: str
    input_advice: str = "Give at least one word"
    file_advice: str = "Give one text per line"


class Experiment(Section):
    """Task, seed, data, model, training, and how texts are written: what the config of every task has.

    A task's own is `Config` in its folder: it gives the sections their own keys, and says these:

    data_spec: the files, columns and corpora that it reads
    help: what it is
    architecture: the one that is taken unless said
    use: what it asks of a model
    sized: keys of the model, beside those of the family, whose default follows from its size
    scores: the names of its own scores, which no metric may have
    compared: what its metrics compare: labels, tags, texts; of a task whose `train` is a `ComparedTrain`
    renamed: older names of keys that stand for another key than in other tasks

    >>> from seqloom.tasks.registry import experiment
    >>> tagger = experiment({"task": "tag", "data": {"train": "train.conllu"}})
    >>> tagger.model.arch, tagger.model.bidirectional, tagger.train.optimizer
    ('lstm', True, 'adam')
    """

    data_spec: ClassVar[DataSpec]
    help: ClassVar[Help]
    architecture: ClassVar[str]
    use: ClassVar[Use]
    sized: ClassVar[tuple[str, ...]] = ()
    scores: ClassVar[tuple[str, ...]] = ()
    compared: ClassVar[str] = ""
    renamed: ClassVar[Mapping[str, str]] = {}

    task: str = key(description="What to learn (`seqloom list tasks`).")
    seed: int = key(
        1, ge=0, lt=2**63, description="Decides weights, order and dropout (data.seed: splits and corpora)."
    )
    data: DataSection = key(description="Files in, tokens out.")
    model: Family = key(description="The model that learns (`seqloom list models`).")
    train: Train = key(description="How it learns.")
    decode: DecodeSection | None = key(None, description="How texts are written, by a task that writes any.")

    # What a task says ------------------------------------------------------------------------------------------

    @classmethod
    def model_keys(cls, family: type[Family]) -> tuple[type[Section], ...]:
        """The keys that the model has beside those of its family."""
        return ()

    @classmethod
    def data_defaults(cls, family: type[Family], size: str, said: Values) -> Values:
        """Of `data`, given what was said there: of these the keys that the task has."""
        usual = {"vocabulary_size": 20_000, "sample": 20_000_000, "max_length": family.default_max_length}
        return {name: value for name, value in usual.items() if name in cls.sections()["data"].model_fields}

    @classmethod
    def model_defaults(cls, family: type[Family], size: str, said: Values) -> Values:
        """Of `model`; those of the family win over them."""
        return {"dropout": 0.1, "word_dropout": 0.0}

    @classmethod
    def train_defaults(cls, family: type[Family], size: str) -> Values:
        """Of `train`."""
        usual = {"epochs": 10, "schedule": "cosine", "clip_norm": 1.0, "batch_tokens": 2048}
        return usual | family.train_defaults(size, cls.use)

    @classmethod
    def decode_defaults(cls, data: Values, said: Values) -> Values:
        """Of `decode`, given what was said there; of a task that writes."""
        return {}

    @classmethod
    def longest(cls, data: Values, train: Values) -> object:
        """How many positions the model must be able to read."""
        return data.get("max_length")

    def conflicts(self) -> Iterator[Problem]:
        """What does not fit together; the first one is raised."""
        yield from self.data_conflicts()
        yield from self.metric_conflicts()
        yield from self.train.conflicts()
        if self.decode is not None:
            yield from self.decode.conflicts()
        yield from self.model.conflicts(self.use)
        yield from self.model.length_conflicts("data.max_length", getattr(self.data, "max_length", None))

    def data_conflicts(self) -> Iterator[Problem]:
        """The same, of files, corpora and splits."""
        data = self.data
        if data.train and data.corpus is not None:
            both = f"{KeyName('data.train')} and {KeyName('data.corpus')} are both given"
            yield conflict("data.train", f"{both} ({data.train[0]}, {data.corpus})", "Leave one of them out")
        if data.format not in (formats := self.choices("data.format")):
            yield not_a_choice("data.format", data.format, formats)
        if data.corpus is not None and data.corpus not in (corpora := self.choices("data.corpus")):
            yield not_a_corpus(self.task, data.corpus, corpora)
        if (0 if data.valid else data.valid_share) + (0 if data.test else data.test_share) >= 1:
            both = f"{KeyName('data.valid_share')} and {KeyName('data.test_share')}"
            message = f"{both} are {data.valid_share} and {data.test_share}, which leaves nothing to learn from"
            yield conflict("data.valid_share", message, "Make them smaller")

    def metric_conflicts(self) -> Iterator[Problem]:
        """The same, of metrics and the task's answers."""
        for name in self.train.metrics if isinstance(self.train, ComparedTrain) else ():
            has = f"{KeyName('train.metrics')} has {name}"
            if name in self.scores:
                message = f"{has}, which is a score of {self.task} itself"
                yield conflict("train.metrics", message, "Leave it out, or register the metric under another name")
            if (of := METRICS[name].input) and of != self.compared:
                message = (
                    f"{KeyName('train.metrics')} has {name}, which compares {of}, and {self.task} has {self.compared}"
                )
                yield conflict("train.metrics", message, "Leave it out")

    def describe_model(self) -> str:
        """The model in a few words, for a person."""
        return self.model.describe()

    # Composition -----------------------------------------------------------------------------------------------

    @classmethod
    def with_family(cls, family: type[Family]) -> type["Experiment"]:
        """The config of this task with a model of this family: a key that does not apply does not exist there."""
        return compose(cls, family)

    @classmethod
    def sections(cls) -> dict[str, type[Section]]:
        """data, model, train, decode: those that this task has, and their kinds."""
        kinds = {name: field.annotation for name, field in cls.model_fields.items()}
        return {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Section)}

    @classmethod
    def choices(cls, dotted: str) -> tuple[str, ...]:
        """The words that a key takes: of formats and corpora those that the task reads."""
        if dotted == "data.format":
            return (AUTO, *(form.name for form in formats_read(cls.data_spec)))
        return tuple(cls.data_spec.corpora) if dotted == "data.corpus" else super().choices(dotted)

    # Validation ------------------------------------------------------------------------------------------------

    @classmethod
    def filled(cls, raw: Mapping[str, object]) -> Values:
        """`raw` with every default put in that depends on the task, the family or the size."""
        kinds = cls.sections()
        if not all(isinstance(raw.get(name) or {}, Mapping) for name in SECTIONS):
            return dict(raw)  # the schema says what is wrong, here and below
        said = {name: dict(section_of(raw, name)) for name in SECTIONS}
        family = kinds["model"]
        assert issubclass(family, Family)
        size = str(said["model"].get("size") or "small")
        if size not in SIZES:
            return {**raw, "model": {"arch": cls.architecture, **said["model"]}}
        data = with_defaults(kinds["data"], said["data"], cls.data_defaults(family, size, said["data"]))
        train = cls.filled_train(family, size, said["train"])
        values = {"arch": cls.architecture, "size": size, **family.sizes[size]}
        values |= cls.model_defaults(family, size, said["model"]) | family.defaults(size, cls.use)
        if "max_length" in family.model_fields:
            values["max_length"] = cls.longest(data, train) or family.default_max_length
        model = cls.filled_model(with_defaults(family, said["model"], values), said["model"])
        whole = {**raw, "data": data, "model": model, "train": train, "decode": said["decode"] or None}
        if "decode" in kinds:
            defaults = cls.decode_defaults(data, said["decode"])
            whole["decode"] = with_defaults(kinds["decode"], said["decode"], defaults)
        return whole

    @classmethod
    def filled_train(cls, family: type[Family], size: str, said: Values) -> Values:
        """`train`, with defaults that follow from each other."""
        train = with_defaults(cls.sections()["train"], said, cls.train_defaults(family, size))
        if train.get("optimizer") == "rmsprop" and "momentum" not in said:
            train["momentum"] = 0.0
        if train.get("optimizer") != "adamw" and "weight_decay" not in said:
            train.pop("weight_decay", None)
        if said.get("batch_size") is not None and said.get("batch_tokens") is None:
            train["batch_tokens"] = None
        elif said.get("batch_tokens") is not None and said.get("batch_size") is None:
            train["batch_size"] = None
        if train.get("steps") is not None and "epochs" not in said:
            train["epochs"] = None
        return train

    @classmethod
    def filled_model(cls, model: Values, said: Values) -> Values:
        """`model`, with defaults that follow from other keys of it, given what was said there."""
        return model

    @model_validator(mode="before")
    @classmethod
    def fill(cls, raw: object) -> object:
        """Defaults that depend on the task, the family or the size."""
        return cls.filled(raw) if isinstance(raw, Mapping) else raw

    @model_validator(mode="after")
    def agree(self) -> Self:
        """The sections fit each other."""
        for problem in self.conflicts():
            raise ConfigError.of(problem)
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """For another process: its class is composed anew there."""
        from seqloom.tasks.registry import experiment

        return experiment, (self.values(),)

    def values(self) -> Values:
        """Nested values that give this experiment again; a function that builds its model stands in them as itself."""
        values = self.model_dump()
        build = builder_of(self.model)
        return values if build is None else {**values, "model": {**values["model"], "arch": build}}

    @model_serializer(mode="wrap")
    def acting(self, dump: SerializerFunctionWrapHandler) -> Values:
        """Nested values, without the keys that change nothing: what can be given to `experiment` again."""
        return without_keys(dump(self), {each.key for each in unused_keys(self)})


@cache
def compose(config: type[Experiment], family: type[Family]) -> type[Experiment]:
    """The config of a task with the model of a family: both kinds of keys in one section."""
    for role in config.data_spec.roles:
        if role.key not in config.sections()["data"].model_fields:
            where = f"{config.__module__}.{config.__name__}"
            raise ArgumentError(where, f"the role {role.name!r}", "no key", f"data.{role.key} in its data section")
    model = create_model(family.__name__, __base__=(*config.model_keys(family), family), __module__=family.__module__)
    field = key(description=config.model_fields["model"].description or "")
    return create_model(config.__name__, __base__=config, __module__=config.__module__, model=(model, field))


def not_a_corpus(task: str, name: str, corpora: Sequence[str]) -> Problem:
    """A corpus that this task can't learn from: of other tasks, or of none."""
    others = [other for other in TASKS if name in TASKS[other].data_spec.corpora]
    if not others:
        return not_a_choice("data.corpus", name, corpora)
    message = f"{KeyName('data.corpus')} is {name}, which has nothing for {task} (it has {', '.join(others)})"
    return conflict("data.corpus", message, f"Use {' or '.join(corpora)}")
