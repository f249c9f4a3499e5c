"""A run that is there: open it, ask it, measure it. Torch is imported once the model is needed."""

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.core.config.decode import DecodeSection
from seqloom.core.config.section import keys
from seqloom.core.problem import DataError, KeyName, RunError, TextError, UserError
from seqloom.core.run_format import SCORES, VOCABULARY, Manifest, read_json, read_text
from seqloom.data.split import TEST, VALID
from seqloom.models.family import Use
from seqloom.models.layer_builder import Build
from seqloom.runs.devices import check_device, device_of, seed
from seqloom.runs.recorded_parts import open_manifest
from seqloom.runs.run_config import read_experiment
from seqloom.tasks.config_keys import all_keys, keys_of
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, experiment
from seqloom.tasks.user_defined_parts import part_errors, used_parts
from seqloom.views import lenient

if TYPE_CHECKING:
    import torch

    from seqloom.nn.model import GenerativeModel
    from seqloom.tasks.task import Answer, Evaluation, Task

TOGETHER = 64  # texts read in one batch
LONGEST_TEXT = 1_000_000  # characters


class Run:
    """A folder, checked before anything of it is used.

    run = seqloom.load("runs/reviews")
    run.predict(["A fine film."])          # [{"text": …, "label": "positive", "probability": 0.97, …}]
    """

    def __init__(
        self,
        folder: str | Path,
        device: str = "cpu",
        manifest: Manifest | None = None,
        experiment: Experiment | None = None,
        build: Build | None = None,
    ) -> None:
        """manifest: of a folder that has just been checked; it is not checked again then
        experiment: its resolved config, if that has just been read
        build: the function that builds its layers, if it was made with `model=build`
        """
        self.folder = Path(folder)
        self.manifest: Manifest = open_manifest(self.folder, build) if manifest is None else manifest
        check_device(device)
        self.device_name = device
        self.experiment: Experiment = read_experiment(self.folder, build) if experiment is None else experiment

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, task={self.manifest.task!r}, {self.manifest.parameters:,} parameters)"

    @cached_property
    def device(self) -> "torch.device":
        """Where to compute."""
        return device_of(self.device_name)

    @cached_property
    def task(self) -> "Task[GenerativeModel, object]":
        """The task, with the run's vocabularies."""
        return self.task_by(self.experiment)

    def task_by(self, chosen: Experiment) -> "Task[GenerativeModel, object]":
        """The run's task with its vocabularies, by this config."""
        try:
            return TASKS[chosen.task].task.from_files(chosen, vocabulary_of(self.folder, self.manifest))
        except KeyError as missing:
            folder = self.folder / VOCABULARY
            raise RunError(f"{missing} is missing", "Restore the folder from a copy", location=folder) from None
        except (DataError, RunError) as damaged:  # its location is the file's name
            path = self.folder / VOCABULARY / damaged.template.location
            raise RunError.of(replace(damaged.template, location=str(path))) from None

    @cached_property
    def model(self) -> "GenerativeModel":
        """The best weights, ready to answer."""
        import torch

        from seqloom.runs.weights import restore

        name = self.manifest.model
        if name is None:
            raise RunError(
                "no weights yet, since it was stopped before its first validation",
                f"Continue it with `seqloom resume {self.folder}`",
                location=self.folder,
            )
        with torch.inference_mode(False):  # ordinary weights, whoever asks first: one may want to train them on
            model = self.build()
            restore(model, self.folder / name, self.device)
            return model.to(self.device).eval()

    def build(self) -> "GenerativeModel":
        """The model, whose weights are yet to come from their file.

        Built-in parts need no memory for that. A user-defined part may hold constants that no file has: it is built as
        training built it.
        """
        import torch

        if not used_parts(self.experiment):
            with torch.device("meta"):
                return self.task.build()
        with torch.random.fork_rng(devices=[]):
            seed("weights", self.experiment.seed)
            return self.task.build()

    @property
    def scores(self) -> dict[str, Any]:
        """The final figures, once the run is finished."""
        path = self.folder / SCORES
        scores = read_json(path) if path.exists() else {}
        return scores | {split: with_numbers(scores[split]) for split in (VALID, TEST) if split in scores}

    def predict(self, texts: Sequence[str], *, attention: bool = False, **options: Any) -> "list[Answer]":
        """An answer for each text, in order; where a run is about images, texts are their paths.

        A run that generates its answers says with `attention` where it looked, and takes as `options` the keys of
        `decode`: beam, n_best, temperature, prompt, ...
        """
        import torch

        if isinstance(texts, str):
            raise UserError("give a list of texts, even of one: predict([text])", location="predict")
        for number, text in enumerate(texts, 1):
            if not text.strip():
                raise UserError(f"text {number} is empty", self.experiment.help.input_advice, location="predict")
            if len(text) > LONGEST_TEXT:
                message = f"{len(text):,} characters; at most {LONGEST_TEXT:,}"
                raise TextError(number, message, "Split it", code="long-text")
        answers: list[Answer] = []
        answer = self.answering(attention, options)
        with torch.inference_mode(), part_errors(self.experiment):
            for start in range(0, len(texts), TOGETHER):
                try:
                    answers += answer(texts[start : start + TOGETHER])
                except TextError as wrong:
                    raise wrong.shifted(start) from None
        return answers

    def answering(self, attention: bool, options: Mapping[str, object]) -> "Callable[[Sequence[str]], list[Answer]]":
        """What answers some texts, as the options say; a sentence where they have no use."""
        task = self.task
        if self.experiment.use is Use.DECODE:
            chosen = self.decode_options(options)
            return lambda some: task.answer(self.model, some, chosen, self.device, attention=attention)
        if attention or options:
            name = next(iter(options), "attention")
            message = f"{name} is for runs that generate their answers, and this is one of {task.name}"
            raise UserError(message, location=self.folder, code="option-without-use")
        return lambda some: task.predict(self.model, some, self.device)

    def generate(self, prompt: str = "", **options: Any) -> str:
        """A text after the prompt; `options` are keys of `decode`: temperature, top_p, beam, length, seed, …"""
        return "".join(self.stream(prompt, **options))

    def stream(self, prompt: str = "", **options: Any) -> Iterator[str]:
        """The same, piece by piece as it is written."""
        if self.experiment.use is not Use.GENERATE:
            advice = f"Use `seqloom predict {self.folder}`"
            message = f"a run of {self.manifest.task} can't write"
            raise UserError(message, advice, location=self.folder, code="cannot-write")
        chosen = self.decode_options(options)
        with part_errors(self.experiment):
            for pieces in self.task.stream(self.model, [prompt], chosen, chosen.seed or 0, self.device):
                yield from pieces.values()

    def decode_options(self, options: Mapping[str, object]) -> DecodeSection:
        """How the run generates, with these keys of `decode` given anew; with a seed, if it samples."""
        chosen = decode_options(self.experiment, options)
        if chosen.seed is None and chosen.beam_size == 1 and chosen.temperature > 0:
            return chosen.model_copy(update={"seed": random.randrange(1 << 32)})
        return chosen

    def evaluate(
        self,
        files: str | Path | Sequence[str | Path],
        data: Mapping[str, Any] | None = None,
        decode: Mapping[str, Any] | None = None,
    ) -> "Evaluation":
        """Scores on another file, or several; its details say under `data` what was read.

        decode: how a run that generates its answers should do so, where not as it was trained to: beam, ...
        data: how these files are written, where it is not as the run's own were: format, text, label, header,
            label_separator, tag, source, target, max_characters; and what to do with what can't be read: on_bad_line,
            on_bad_image. A None lets it be guessed again.
        """
        import torch

        from seqloom.tasks.task import Evaluation

        names = [str(file) for file in ([files] if isinstance(files, str | Path) else files)]
        chosen = reading(self.experiment, names, data or {})
        if decode:
            if self.experiment.use is not Use.DECODE:
                message = f"{KeyName(f'decode.{next(iter(decode))}')} has no use, since {self.task.name} does not write"
                raise UserError(message, location="evaluate")
            chosen = chosen.model_copy(update={"decode": decode_options(chosen, decode)})
        task = self.task_by(chosen)
        with (
            tempfile.TemporaryDirectory(prefix="seqloom-") as folder,
            torch.inference_mode(),
            part_errors(self.experiment),
        ):
            task.read(names, Path(folder))
            found = task.evaluate(self.model, "test", self.device)
            return Evaluation(found.scores, {**found.details, "data": task.describe()})


def reading(chosen: Experiment, files: Sequence[str], data: Mapping[str, Any]) -> Experiment:
    """The config of a run, with what is said anew of how files are written."""
    own = keys_of("data", type(chosen.data), type(chosen))
    anew = sorted(key.name for key in own if key.of_file)
    for name in data:
        key = all_keys().get(f"data.{name}")
        if key is None or not key.of_file:
            known = " and ".join([*([", ".join(anew[:-1])] if anew[1:] else []), anew[-1]])
            message = f"{KeyName(f'data.{name}')} is the run's, and can't be said anew; {known} can"
            raise UserError(message, location="evaluate")
    # Whether it can be said is judged by itself: what the run says of its own files has no part in that.
    said = experiment({"task": chosen.task, "data": {"train": files, "format": chosen.data.format, **data}}).data
    return chosen.model_copy(
        update={"data": chosen.data.model_copy(update={name: getattr(said, name) for name in data})}
    )


def with_numbers(scores: object) -> dict[str, float]:
    """The scores of a split, infinite ones too, which a file has as words."""
    numbers = {name: lenient.number(value) for name, value in lenient.mapping(scores).items()}
    return {name: value for name, value in numbers.items() if value is not None}


def vocabulary_of(folder: Path, manifest: Manifest) -> dict[str, str]:
    """The files of a run's vocabulary: those that the manifest knows, whatever else lies there."""
    inside = sorted(name for name in manifest.files if Path(name).parent == Path(VOCABULARY))
    return {Path(name).name: read_text(folder / name) for name in inside}


def decode_options(chosen: Experiment, options: Mapping[str, object]) -> DecodeSection:
    """How to write, as the run says, with some keys said anew.

    A beam undoes the run's temperature, and a temperature its beam; a beam of 1 and a temperature of 0 undo nothing.
    """
    base = chosen.model_dump()["decode"] or {}
    for one, other, plain in (("beam_size", "temperature", ("1",)), ("temperature", "beam_size", ("0", "0.0"))):
        if one in options and other not in options and str(options[one]) not in plain:
            base.pop(other, None)
    return keys(experiment({"task": chosen.task, "decode": base}, over={"decode": options}).decode, DecodeSection)
