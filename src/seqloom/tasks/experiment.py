"""The config of an experiment: one frozen value, composed for a task and a model family."""

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
    """The texts about a task in the help, and in advice.

    paragraph: what it learns, what it reads, its scores, and how the trained model is used
    file, option, more: for the example commands `train TASK`: a file; an option to add; other files and options
    input_advice: advice for an empty input
    file_advice: advice for a file without inputs; a line is an input
    """

    paragraph: str
    file: str
    option: str
    more: str
    input_advice: str = "Give at least one word"
    file_advice: str = "Give one text per line"


class Experiment(Section):
    """Task, seed, data, model, training and decoding: the config of every task.

    A task derives its own `Config`, whose sections have keys of their own, and defines these variables:

    data_spec: the files, columns and corpora that it reads
    help: its texts in the help
    architecture: the default of `model.arch`
    use: what it needs of a model
    sized: keys of the model, besides those of the family, whose default depends on its size
    scores: the names of its own scores, which no metric may have
    metric_input: what its metrics compare: labels, tags or texts
    renamed: older names of keys, and their present names, if these differ from those in other tasks

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
    metric_input: ClassVar[str] = ""
    renamed: ClassVar[Mapping[str, str]] = {}

    task: str = key(..., "The task (`seqloom list tasks`).")
    seed: int = key(
        1, "The random seed of weights, data order and dropout (data.seed: splits and corpora).", ge=0, lt=2**63
    )
    data: DataSection = key(..., "Files, splits and tokenization.")
    model: Family = key(..., "The model (`seqloom list models`).")
    train: Train = key(..., "Training.")
    decode: DecodeSection | None = key(None, "Decoding: how text is generated.")

    # What a task defines ---------------------------------------------------------------------------------------

    @classmethod
    def model_keys(cls, family: type[Family]) -> tuple[type[Section], ...]:
        """The sections whose keys the model has besides those of its family."""
        return ()

    @classmethod
    def data_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        """Defaults of `data`; `explicit` are the values that are set there."""
        defaults = {"vocabulary_size": 20_000, "sample": 20_000_000, "max_length": family.default_max_length}
        return {name: value for name, value in defaults.items() if name in cls.sections()["data"].model_fields}

    @classmethod
    def model_defaults(cls, family: type[Family], size: str, explicit: Values) -> Values:
        """Defaults of `model`; those of the family override them."""
        return {"dropout": 0.1, "word_dropout": 0.0}

    @classmethod
    def train_defaults(cls, family: type[Family], size: str) -> Values:
        """Defaults of `train`."""
        defaults = {"epochs": 10, "schedule": "cosine", "clip_norm": 1.0, "batch_tokens": 2048}
        return defaults | family.train_defaults(size, cls.use)

    @classmethod
    def decode_defaults(cls, data: Values, explicit: Values) -> Values:
        """Defaults of `decode`, for a task that generates text."""
        return {}

    @classmethod
    def required_length(cls, data: Values, train: Values) -> object:
        """The number of positions that the model must be able to read: the default of `model.max_length`."""
        return data.get("max_length")

    def conflicts(self) -> Iterator[Problem]:
        """The problems of keys that do not fit together; the first one is raised."""
        yield from self.data_conflicts()
        yield from self.metric_conflicts()
        yield from self.train.conflicts()
        if self.decode is not None:
            yield from self.decode.conflicts()
        yield from self.model.conflicts(self.use)
        yield from self.model.length_conflicts("data.max_length", getattr(self.data, "max_length", None))

    def data_conflicts(self) -> Iterator[Problem]:
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
            message = f"{both} are {data.valid_share} and {data.test_share}, which leaves no training data"
            yield conflict("data.valid_share", message, "Make them smaller")

    def metric_conflicts(self) -> Iterator[Problem]:
        for name in self.train.metrics if isinstance(self.train, ComparedTrain) else ():
            has = f"{KeyName('train.metrics')} has {name}"
            if name in self.scores:
                message = f"{has}, which is a score of {self.task} itself"
                yield conflict("train.metrics", message, "Leave it out, or register the metric under another name")
            if (kind := METRICS[name].input) and kind != self.metric_input:
                message = f"{has}, which compares {kind}, and {self.task} has {self.metric_input}"
                yield conflict("train.metrics", message, "Leave it out")

    def describe_model(self) -> str:
        """The model in a few words."""
        return self.model.describe()

    # Composition -----------------------------------------------------------------------------------------------

    @classmethod
    def with_family(cls, family: type[Family]) -> type["Experiment"]:
        """The config of this task with a model of this family, without keys that do not apply."""
        return compose(cls, family)

    @classmethod
    def sections(cls) -> dict[str, type[Section]]:
        """The classes of data, model, train and decode, as far as the task has them."""
        kinds = {name: field.annotation for name, field in cls.model_fields.items()}
        return {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Section)}

    @classmethod
    def choices(cls, dotted: str) -> tuple[str, ...]:
        """The words that a key takes; formats and corpora are those that the task reads."""
        if dotted == "data.format":
            return (AUTO, *(form.name for form in formats_read(cls.data_spec)))
        return tuple(cls.data_spec.corpora) if dotted == "data.corpus" else super().choices(dotted)

    # Validation ------------------------------------------------------------------------------------------------

    @classmethod
    def fill(cls, raw: Mapping[str, object]) -> Values:
        """`raw` with the defaults that depend on the task, the family or the size."""
        kinds = cls.sections()
        if not all(isinstance(raw.get(name) or {}, Mapping) for name in SECTIONS):
            return dict(raw)  # the schema says what is wrong, here and below
        explicit = {name: dict(section_of(raw, name)) for name in SECTIONS}
        family = kinds["model"]
        assert issubclass(family, Family)
        size = str(explicit["model"].get("size") or "small")
        if size not in SIZES:
            return {**raw, "model": {"arch": cls.architecture, **explicit["model"]}}
        data = with_defaults(kinds["data"], explicit["data"], cls.data_defaults(family, size, explicit["data"]))
        train = cls.fill_train(family, size, explicit["train"])
        defaults: Values = {"arch": cls.architecture, "size": size, **family.sizes[size]}
        defaults |= cls.model_defaults(family, size, explicit["model"]) | family.defaults(size, cls.use)
        if "max_length" in family.model_fields:
            defaults["max_length"] = cls.required_length(data, train) or family.default_max_length
        model = cls.fill_model(with_defaults(family, explicit["model"], defaults), explicit["model"])
        values = {**raw, "data": data, "model": model, "train": train, "decode": explicit["decode"] or None}
        if "decode" in kinds:
            decode_defaults = cls.decode_defaults(data, explicit["decode"])
            values["decode"] = with_defaults(kinds["decode"], explicit["decode"], decode_defaults)
        return values

    @classmethod
    def fill_train(cls, family: type[Family], size: str, explicit: Values) -> Values:
        """`train` with defaults that depend on other keys."""
        train = with_defaults(cls.sections()["train"], explicit, cls.train_defaults(family, size))
        if train.get("optimizer") == "rmsprop" and "momentum" not in explicit:
            train["momentum"] = 0.0
        if train.get("optimizer") != "adamw" and "weight_decay" not in explicit:
            train.pop("weight_decay", None)
        if explicit.get("batch_size") is not None and explicit.get("batch_tokens") is None:
            train["batch_tokens"] = None
        elif explicit.get("batch_tokens") is not None and explicit.get("batch_size") is None:
            train["batch_size"] = None
        if train.get("steps") is not None and "epochs" not in explicit:
            train["epochs"] = None
        return train

    @classmethod
    def fill_model(cls, model: Values, explicit: Values) -> Values:
        """`model` with defaults that depend on other keys."""
        return model

    @model_validator(mode="before")
    @classmethod
    def set_defaults(cls, raw: object) -> object:
        return cls.fill(raw) if isinstance(raw, Mapping) else raw

    @model_validator(mode="after")
    def check_conflicts(self) -> Self:
        for problem in self.conflicts():
            raise ConfigError.of(problem)
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled as values: another process composes the class anew."""
        from seqloom.tasks.registry import experiment

        return experiment, (self.values(),)

    def values(self) -> Values:
        """Nested values that give this experiment again; a function that builds its model is one of them."""
        values = self.model_dump()
        build = builder_of(self.model)
        return values if build is None else {**values, "model": {**values["model"], "arch": build}}

    @model_serializer(mode="wrap")
    def serialize(self, dump: SerializerFunctionWrapHandler) -> Values:
        """Nested values without the keys that have no effect."""
        return without_keys(dump(self), {unused.key for unused in unused_keys(self)})


@cache
def compose(config: type[Experiment], family: type[Family]) -> type[Experiment]:
    """The config of a task with the model of a family: `model` has the keys of both."""
    for role in config.data_spec.roles:
        if role.key not in config.sections()["data"].model_fields:
            where = f"{config.__module__}.{config.__name__}"
            raise ArgumentError(where, f"the role {role.name!r}", "no key", f"data.{role.key} in its data section")
    model = create_model(family.__name__, __base__=(*config.model_keys(family), family), __module__=family.__module__)
    field = key(..., config.model_fields["model"].description or "")
    return create_model(config.__name__, __base__=config, __module__=config.__module__, model=(model, field))


def not_a_corpus(task: str, name: str, corpora: Sequence[str]) -> Problem:
    """The corpus is one of other tasks, or unknown."""
    others = [other for other in TASKS if name in TASKS[other].data_spec.corpora]
    if not others:
        return not_a_choice("data.corpus", name, corpora)
    message = f"{KeyName('data.corpus')} is {name}, which is not a corpus for {task} (only for {', '.join(others)})"
    return conflict("data.corpus", message, f"Use {' or '.join(corpora)}")
