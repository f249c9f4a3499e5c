"""A finished or interrupted run: predict, generate, evaluate. torch is imported when the model is needed."""

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.core.config.decode import DecodeSection
from seqloom.core.config.section import keys
from seqloom.core.problem import DataError, KeyName, RunError, TextError, UserError
from seqloom.core.run_format import RESTORE, SCORES, VOCABULARY, Manifest, read_json, read_text
from seqloom.core.wording import join_words
from seqloom.data.split import TEST, VALID
from seqloom.models.family import Use
from seqloom.models.layer_builder import Build
from seqloom.runs.devices import check_device, resolve_device, seed_torch
from seqloom.runs.recorded_parts import open_manifest
from seqloom.runs.run_config import read_experiment
from seqloom.tasks.config_keys import all_keys, keys_of
from seqloom.tasks.experiment import Experiment
from seqloom.tasks.registry import TASKS, experiment
from seqloom.tasks.user_defined_parts import part_errors, used_parts
from seqloom.views import lenient

if TYPE_CHECKING:
    import torch

    from seqloom.data.inputs import Inputs
    from seqloom.nn.model import GenerativeModel
    from seqloom.tasks.task import Answer, Evaluation, Task

BATCH_SIZE = 64  # texts
MAX_TEXT = 1_000_000  # characters


class Run:
    """A trained model in its folder, which is verified before anything in it is used.

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
        """manifest, experiment: those of the folder, if it was already verified
        build: the function that builds the layers, for a run that was made with `model=build`
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
        return resolve_device(self.device_name)

    @cached_property
    def task(self) -> "Task[GenerativeModel, object]":
        """The task, with the run's vocabularies."""
        return self.task_with(self.experiment)

    def task_with(self, config: Experiment) -> "Task[GenerativeModel, object]":
        """The task with the run's vocabularies and another config."""
        try:
            return TASKS[config.task].task.from_files(config, read_vocabulary(self.folder, self.manifest))
        except KeyError as error:
            folder = self.folder / VOCABULARY
            raise RunError(f"{error} is missing", RESTORE, location=folder) from None
        except (DataError, RunError) as error:  # its location is a file name
            path = self.folder / VOCABULARY / error.template.location
            raise RunError.of(replace(error.template, location=str(path))) from None

    @cached_property
    def model(self) -> "GenerativeModel":
        """The model with the best weights, in eval mode."""
        import torch

        from seqloom.runs.weights import load_weights

        name = self.manifest.model
        if name is None:
            message = "there are no weights yet, because the run was stopped before its first validation"
            raise RunError(message, f"Continue it with `seqloom resume {self.folder}`", location=self.folder)
        with torch.inference_mode(False):  # even if the caller is in inference mode: the weights stay trainable
            model = self.build()
            load_weights(model, self.folder / name, self.device)
            return model.to(self.device).eval()

    def build(self) -> "GenerativeModel":
        """The model before its weights are loaded; on `meta`, which takes no memory, if it has no user-defined part.

        A user-defined part may hold constants that are in no file, so it is built as in training.
        """
        import torch

        from seqloom.nn.initialization import without_values

        if not used_parts(self.experiment):
            with without_values():
                return self.task.build()
        with torch.random.fork_rng(devices=[]):
            seed_torch("weights", self.experiment.seed)
            return self.task.build()

    @property
    def scores(self) -> dict[str, Any]:
        """The final scores, once the run is finished."""
        path = self.folder / SCORES
        scores = read_json(path) if path.exists() else {}
        for split in scores.keys() & {VALID, TEST}:
            numbers = {name: lenient.number(value) for name, value in lenient.mapping(scores[split]).items()}
            scores[split] = {name: value for name, value in numbers.items() if value is not None}
        return scores

    def predict(self, texts: Sequence[str], *, attention: bool = False, **options: Any) -> "list[Answer]":
        """An answer for each text, in order. For a run about images, a text is the path of an image.

        If the run generates its answers, `attention` adds the attention weights, and `options` are keys of `decode`:
        beam_size, n_best, temperature, prompt, ...
        """
        import torch

        if not isinstance(texts, Iterable) or isinstance(texts, str):
            raise UserError("give a list of texts, even of one: predict([text])", location="predict")
        texts = list(texts)
        for number, text in enumerate(texts, 1):
            if not isinstance(text, str):
                raise UserError(f"text {number} is of type {type(text).__name__}, not a text", location="predict")
            if not text.strip():
                raise UserError(f"text {number} is empty", self.experiment.help.input_advice, location="predict")
            if len(text) > MAX_TEXT:
                message = f"{len(text):,} characters; at most {MAX_TEXT:,}"
                raise TextError(number, message, "Split it", code="long-text")
        answers: list[Answer] = []
        answer = self.predictor(attention, options)
        with torch.inference_mode(), part_errors(self.experiment):
            for start in range(0, len(texts), BATCH_SIZE):
                try:
                    answers += answer(texts[start : start + BATCH_SIZE])
                except TextError as error:
                    raise error.shifted(start) from None
        return answers

    def read_inputs(self, file: str | Path, data: Mapping[str, object] | None = None) -> "Inputs":
        """The inputs of a file, with or without answers, in the columns and the format of the run's own files.

        inputs = run.read_inputs("new.csv")                     # what `seqloom predict RUN new.csv` reads
        locations, texts = zip(*inputs.texts)                   # ("new.csv:2", "new.csv:3", …), ("A fine film.", …)
        answers = run.predict(texts)

        `inputs.texts` is an iterator, which raises the errors of lines as it reads them. A bad line is refused, since
        answers match lines, unless `data` has `on_bad_line="skip"`; `inputs.skipped` then counts them.

        data: the format of this file, where it differs, as in `evaluate`
        """
        from seqloom.data.inputs import read_inputs

        config = with_files(self.experiment, [str(file)], data, "predict") if data else self.experiment
        return read_inputs(Path(file), config.data_spec, config.data, config.help.file_advice, data or {})

    def predictor(self, attention: bool, options: Mapping[str, object]) -> "Callable[[Sequence[str]], list[Answer]]":
        """A function from a batch of texts to their answers. Options that the run does not use are an error."""
        task = self.task
        if self.experiment.use is Use.DECODE:
            decode = self.decode_options(options)
            return lambda texts: task.generate(self.model, texts, decode, self.device, attention=attention)
        if attention or options:
            name = next(iter(options), "attention")
            message = f"{name} is only for tasks whose answers are texts; the task of this run is {task.name}"
            raise UserError(message, location=self.folder, code="option-without-use")
        return lambda texts: task.predict(self.model, texts, self.device)

    def generate(self, prompt: str = "", **options: Any) -> str:
        """A text after the prompt; `options` are keys of `decode`: temperature, top_p, max_length, seed, …"""
        return "".join(self.stream(prompt, **options))

    def stream(self, prompt: str = "", **options: Any) -> Iterator[str]:
        """The text of `generate`, chunk by chunk."""
        if self.experiment.use is not Use.GENERATE:
            message = f"`generate` needs a language model; the task of this run is {self.manifest.task}"
            advice = f"Use `seqloom predict {self.folder}`"
            raise UserError(message, advice, location=self.folder, code="cannot-write")
        decode = self.decode_options(options)
        with part_errors(self.experiment):
            for chunks in self.task.stream(self.model, [prompt], decode, decode.seed or 0, self.device):
                yield from chunks.values()

    def decode_options(self, options: Mapping[str, object]) -> DecodeSection:
        """The run's `decode` section with other values for some keys, and with a seed if it samples."""
        decode = decode_options(self.experiment, options)
        if decode.seed is None and decode.beam_size == 1 and decode.temperature > 0:
            return decode.model_copy(update={"seed": random.randrange(1 << 32)})
        return decode

    def evaluate(
        self,
        files: str | Path | Sequence[str | Path],
        data: Mapping[str, Any] | None = None,
        decode: Mapping[str, Any] | None = None,
    ) -> "Evaluation":
        """Scores on other files; `details["data"]` of the result describes what was read.

        data: the format of these files, where it differs from the run's own: format, text, label, header,
            label_separator, tag, source, target, max_characters; and on_bad_line, on_bad_image. A value that is None
            is guessed from the files.
        decode: other values for keys of `decode`, if the run generates its answers: beam_size, ...
        """
        import torch

        from seqloom.tasks.task import Evaluation

        names = [str(file) for file in ([files] if isinstance(files, str | Path) else files)]
        config = with_files(self.experiment, names, data or {})
        if decode:
            if self.experiment.use is not Use.DECODE:
                key = KeyName(f"decode.{next(iter(decode))}")
                message = f"{key} has no effect, because {self.task.name} does not generate text"
                raise UserError(message, location="evaluate")
            config = config.model_copy(update={"decode": decode_options(config, decode)})
        task = self.task_with(config)
        with (
            tempfile.TemporaryDirectory(prefix="seqloom-") as folder,
            torch.inference_mode(),
            part_errors(self.experiment),
        ):
            task.read_test_files(names, Path(folder))
            evaluation = task.evaluate(self.model, "test", self.device)
            return Evaluation(evaluation.scores, {**evaluation.details, "data": task.describe()})


def with_files(
    config: Experiment, files: Sequence[str], data: Mapping[str, object], location: str = "evaluate"
) -> Experiment:
    """The config of a run with other values for keys of `data` that describe files."""
    data_keys = keys_of("data", type(config.data), type(config))
    of_file = sorted(key.name for key in data_keys if key.of_file)
    for name in data:
        key = all_keys().get(f"data.{name}")
        if key is None or not key.of_file:
            message = f"{KeyName(f'data.{name}')} is fixed by the run and can't be changed; {join_words(of_file)} can"
            raise UserError(message, location=location)
    if "header" in of_file and any(role.key in data for role in config.data_spec.roles):
        data = {"header": None, **data}  # a name implies a header; with a number it is guessed
    # Validated without the run's other keys, which describe other files.
    section = experiment({"task": config.task, "data": {"train": files, "format": config.data.format, **data}}).data
    changes = {name: getattr(section, name) for name in data}
    return config.model_copy(update={"data": config.data.model_copy(update=changes)})


def read_vocabulary(folder: Path, manifest: Manifest) -> dict[str, str]:
    """The vocabulary files that the manifest lists, by name."""
    names = sorted(name for name in manifest.files if Path(name).parent == Path(VOCABULARY))
    return {Path(name).name: read_text(folder / name) for name in names}


def decode_options(config: Experiment, options: Mapping[str, object]) -> DecodeSection:
    """The `decode` section with other values for some keys.

    A beam size other than 1 resets the run's temperature; a temperature other than 0 resets the run's beam size.
    """
    base = config.model_dump()["decode"] or {}
    for key, other, neutral in (("beam_size", "temperature", ("1",)), ("temperature", "beam_size", ("0", "0.0"))):
        if key in options and other not in options and str(options[key]) not in neutral:
            base.pop(other, None)
    return keys(experiment({"task": config.task, "decode": base}, over={"decode": options}).decode, DecodeSection)
