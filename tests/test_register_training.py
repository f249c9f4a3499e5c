"""User-defined optimizers, schedules and metrics work like built-in ones in Python, config files and the help."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.optim import LBFGS, SGD, Adafactor, Optimizer

import seqloom
from seqloom.cli.main import main
from seqloom.core.config.toml import to_toml
from seqloom.core.config.train import Train
from seqloom.core.problem import ConfigError, PartError
from seqloom.tasks.metrics.registry import METRICS, MetricInputs
from seqloom.tasks.registry import TASKS, experiment
from seqloom.training.events import Saved
from seqloom.training.optimization import OPTIMIZERS
from seqloom.training.schedules import SCHEDULES
from tests.temporary_parts import temporary_parts
from tests.toys import training_parts
from tests.toys.killed_training import train_until_killed

TINY: dict[str, Any] = {
    "size": "tiny",
    "data": {"corpus": "copy", "examples": 60, "corpus_length": 3, "valid_share": 0.2},
    "train": {
        "steps": 12,
        "batch_tokens": 64,
        "validate_every": 4,
        "checkpoint_every": 4,
        "device": "cpu",
        "optimizer": "drift",
        "schedule": "sawtooth",
        "min_lr_ratio": 0.1,
    },
}


@pytest.fixture(autouse=True)
def registered_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Register all of them for one test."""
    with temporary_parts():
        training_parts.register()
        monkeypatch.chdir(tmp_path)
        yield


# Optimizers and schedules --------------------------------------------------------------------------------------------


def test_a_killed_run_resumes_bit_for_bit() -> None:
    uninterrupted = seqloom.train("tag", out="whole", **TINY)
    train_until_killed(training_parts.register, "tag", out="killed", kill_at=4, **TINY)
    resumed = seqloom.resume("killed")
    assert resumed.manifest.model == uninterrupted.manifest.model
    assert resumed.scores["valid"] == uninterrupted.scores["valid"]


def test_their_names_are_valid_in_a_config_file_and_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    config = experiment({"task": "tag", "data": TINY["data"], "train": TINY["train"]})
    Path("tag.toml").write_text(to_toml(config), encoding="utf-8")
    assert 'optimizer = "drift"' in Path("tag.toml").read_text(encoding="utf-8")
    assert main(["train", "--config", "tag.toml", "--size", "tiny", "--train.steps", "2", "--out", "run"]) == 0
    assert seqloom.load("run").experiment.train.schedule == "sawtooth"
    assert main(["train", "tag", "--help"]) == 0
    help_text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "drift, drift-with-momentum" in help_text
    assert "sawtooth" in help_text
    with pytest.raises(ConfigError, match=r"train\.optimizer is 'drfit'; .*adamw, drift, .* Did you mean drift\?"):
        experiment({"task": "tag", "train": {"optimizer": "drfit"}})


def test_a_user_defined_part_accepts_every_key_of_its_kind() -> None:
    keys = {"momentum": 0.8, "beta1": 0.7, "beta2": 0.8, "epsilon": 1e-5, "l2": 0.1, "weight_decay": 0.1}
    train = experiment({"task": "tag", "train": {"optimizer": "drift", **keys}}).train
    assert {name: getattr(train, name) for name in keys} == keys
    train = experiment({"task": "tag", "train": {"schedule": "sawtooth", "min_lr_ratio": 0.1, "halve_every": 2}}).train
    assert (train.min_lr_ratio, train.halve_every) == (0.1, 2)
    with pytest.raises(ConfigError, match=r"min_lr_ratio has no effect with train\.schedule halve; .*, sawtooth"):
        experiment({"task": "tag", "train": {"schedule": "halve", "min_lr_ratio": 0.1}})


def test_a_function_gets_the_keys_of_the_config() -> None:
    built = OPTIMIZERS["drift-with-momentum"]([{"params": [torch.nn.Parameter(torch.ones(2))]}], train(momentum=0.3))
    assert built.param_groups[0]["keep"] == 0.3


def train(**values: Any) -> Any:
    return experiment({"task": "tag", "train": {"optimizer": "drift-with-momentum", **values}}).train


def test_an_optimizer_of_torch_can_be_registered() -> None:
    assert seqloom.register.optimizer("factored", Adafactor) is Adafactor
    run = seqloom.train("tag", out="run", **{**TINY, "train": {**TINY["train"], "optimizer": "factored", "steps": 4}})
    assert run.experiment.train.optimizer == "factored"


def test_a_schedule_determines_the_learning_rate() -> None:
    run = seqloom.train("tag", out="run", **{**TINY, "train": {**TINY["train"], "log_every": 1, "lr": 1.0}})
    log = (run.folder / "metrics.jsonl").read_text(encoding="utf-8")
    rates = [line.split('"lr": ')[1].split(",")[0] for line in log.splitlines() if '"event": "step"' in line]
    assert [float(rate) for rate in rates[:7]] == pytest.approx([1, 0.8, 0.6, 0.4, 0.2, 1, 0.8])


class Lists(SGD):
    """Its state is a list, which no checkpoint can store."""

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for weight in self.param_groups[0]["params"]:
            self.state[weight]["past"] = [weight.grad]


def nothing(groups: object, train: object) -> None: ...


def fails(state: object, train: object) -> float:
    return 1 / 0


def negative(state: object, train: object) -> float:
    return -1.0


def not_a_number(state: object, train: object) -> float:
    return math.nan


@pytest.mark.parametrize(
    ("register", "part", "message"),
    [
        (seqloom.register.optimizer, int, "is not a torch.optim.Optimizer. Derive it from torch.optim.Optimizer, or"),
        (seqloom.register.optimizer, 3, "is 3, not a function. Write a function of (groups, train)."),
        (seqloom.register.optimizer, negative, "returned -1.0, not a torch.optim.Optimizer. Return the"),
        (seqloom.register.optimizer, nothing, "returned None, not a torch.optim.Optimizer"),
        (seqloom.register.optimizer, Optimizer, "raised TypeError: "),
        (seqloom.register.optimizer, LBFGS, "raised TypeError: LBFGS.step() missing 1 required positional argument"),
        (seqloom.register.schedule, 3, "is 3, not a function. Write a function of (state, train)."),
        (
            seqloom.register.schedule,
            lambda state: 1.0,
            "takes (state), not (state, train). Write a function of (state, train).",
        ),
        (seqloom.register.schedule, fails, "raised ZeroDivisionError: division by zero. Correct it."),
        (seqloom.register.schedule, negative, "is -1.0 at step 0 of 1. Return a finite factor of train.lr, 0 or more."),
        (seqloom.register.schedule, not_a_number, "is nan at step 0 of 1. Return a finite factor"),
        (seqloom.register.schedule, lambda state, train: True, "is True at step 0 of 1. Return a finite factor"),
    ],
)
def test_an_invalid_optimizer_or_schedule_is_refused(
    register: Callable[[str, object], object], part: object, message: str
) -> None:
    with pytest.raises(PartError) as error:
        register("mine", part)
    assert f"{'schedule' if register is seqloom.register.schedule else 'optimizer'} 'mine' {message}" in str(
        error.value
    )
    with pytest.raises(PartError):  # nothing of it is registered
        register("mine", part)
    assert "mine" not in (*OPTIMIZERS, *SCHEDULES)


def test_the_error_has_the_line_that_raised() -> None:
    with pytest.raises(PartError) as error:
        seqloom.register.schedule("mine", fails)
    line = Path(__file__).read_text(encoding="utf-8").splitlines().index("    return 1 / 0") + 1
    assert str(error.value).startswith(f"{__file__}:{line}: the schedule 'mine' raised")


def test_state_that_no_checkpoint_can_store_is_refused() -> None:
    with pytest.raises(PartError, match=r"Lists keeps \[.* as 'past' in its state, which a checkpoint can't"):
        seqloom.register.optimizer("mine", Lists)


@pytest.mark.parametrize(
    ("register", "name"), [(seqloom.register.optimizer, "adam"), (seqloom.register.schedule, "cosine")]
)
def test_a_taken_name_is_refused(register: Callable[[str], Callable[[object], object]], name: str) -> None:
    part = training_parts.Drift if name == "adam" else training_parts.sawtooth
    with pytest.raises(PartError, match=f"training_parts.py:[0-9]+: the [a-z]+ '{name}' is taken"):
        register(name)(part)


def test_a_decorator_returns_the_part() -> None:
    @seqloom.register.schedule("mine")
    def mine(state: object, train: object) -> float:
        return 0.5

    assert mine(None, None) == 0.5
    assert SCHEDULES.names.origin("mine") is not None


# Metrics -------------------------------------------------------------------------------------------------------------

QUICK = {"steps": 4, "validate_every": 2, "device": "cpu"}
SEEN: dict[str, tuple[object, object]] = {}


def agreement(answers: Sequence[object], references: Sequence[object]) -> float:
    SEEN["last"] = answers[0], references[0]
    return sum(answer == reference for answer, reference in zip(answers, references, strict=True)) / len(answers)


def in_references(answers: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    SEEN["last"] = answers[0], references[0]
    return sum(a in choices for a, choices in zip(answers, references, strict=True)) / len(answers)


@pytest.mark.parametrize(
    ("task", "corpus", "same", "metric"),
    [
        ("classify", "numbers", "accuracy", agreement),
        ("tag", "copy", "sentence_accuracy", agreement),
        ("translate", "copy", "exact_match", in_references),
        ("caption", "scenes", "exact_match", in_references),
    ],
)
def test_every_task_that_compares_answers_computes_a_metric(
    task: str, corpus: str, same: str, metric: Callable[..., float], capsys: pytest.CaptureFixture[str]
) -> None:
    seqloom.register.metric("mine", metric)
    data = {"corpus": corpus, "examples": 60, "corpus_length": 2, "valid_share": 0.2, "test_share": 0.2}
    run = seqloom.train(task, size="tiny", data=data, train={**QUICK, "metrics": "mine"}, out="run")
    for split in ("valid", "test"):
        assert run.scores[split]["mine"] == pytest.approx(run.scores[split][same])
    log = Path("run", "metrics.jsonl").read_text(encoding="utf-8")
    assert log.count('"mine": ') == 2
    assert "mine" in Path("run", "report.html").read_text(encoding="utf-8")
    answer, reference = SEEN["last"]
    kinds = {"classify": (str, str), "tag": (list, list), "translate": (str, list), "caption": (str, list)}
    assert (type(answer), type(reference)) == kinds[task]


def test_a_metric_is_shown_with_the_scores(capsys: pytest.CaptureFixture[str]) -> None:
    seqloom.register.metric("mine", agreement)
    rows = "".join(f"film {n},{'good' if n % 2 else 'bad'}\n" for n in range(40))
    Path("films.csv").write_text("text,label\n" + rows, encoding="utf-8")
    words = ["--size", "tiny", "--train.steps", "2", "--train.device", "cpu", "--out", "run"]
    assert main(["train", "classify", "films.csv", "--train.metrics", "mine", *words]) == 0
    assert "mine " in capsys.readouterr().out
    assert main(["evaluate", "run", "films.csv"]) == 0
    assert "mine" in capsys.readouterr().out
    assert main(["evaluate", "run", "films.csv", "--json"]) == 0
    assert '"mine": ' in capsys.readouterr().out
    Path("again.toml").write_text(Path("run", "experiment.toml").read_text(encoding="utf-8"), encoding="utf-8")
    assert 'metrics = ["mine"]' in Path("again.toml").read_text(encoding="utf-8")
    assert main(["train", "--config", "again.toml", "--out", "again"]) == 0
    assert "mine" in seqloom.load("again").scores["valid"]
    assert main(["train", "classify", "--help"]) == 0
    assert "character-error-rate, mine" in " ".join(capsys.readouterr().out.replace("│", " ").split())


def test_a_metric_gets_several_labels_as_a_tuple() -> None:
    seqloom.register.metric("mine", agreement)
    rows = "".join(f"film {n},{'good|long' if n % 2 else 'bad'}\n" for n in range(40))
    Path("films.csv").write_text("text,label\n" + rows, encoding="utf-8")
    train = {**QUICK, "metrics": ["mine"]}
    run = seqloom.train("classify", "films.csv", size="tiny", data={"label_separator": "|"}, train=train, out="run")
    assert run.scores["valid"]["mine"] == pytest.approx(run.scores["valid"]["exact_match"])
    assert SEEN["last"][1] in (("bad",), ("good", "long"))


def test_built_in_error_rates_are_computed() -> None:
    train = {**QUICK, "metrics": "word-error-rate,character-error-rate"}
    data = {"corpus": "copy", "examples": 60, "corpus_length": 2}
    run = seqloom.train("translate", size="tiny", data=data, train=train, decode={"max_length": 5}, out="run")
    assert 0 <= run.scores["valid"]["word-error-rate"] < 9
    assert 0 <= run.scores["valid"]["character-error-rate"] < 9


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"task": "tag", "train": {"metrics": ["accuracy"]}}, "train.metrics is 'accuracy'; expected one of word-err"),
        ({"task": "tag", "train": {"metrics": "micro_f1"}}, "train.metrics is 'micro_f1'; expected one of"),
        ({"task": "tag", "train": {"metrics": "word-error-rate"}}, "train.metrics has word-error-rate, which compares"),
        ({"task": "language", "train": {"metrics": "mine"}}, "train.metrics has no effect in language; it is a key of"),
        ({"task": "tag", "train": {"metrics": 3}}, "train.metrics is 3; expected a list of texts"),
    ],
)
def test_a_metric_that_a_task_can_not_compute_is_refused(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        experiment(raw)
    assert str(error.value).startswith(message)


def test_the_name_of_a_score_is_refused() -> None:
    seqloom.register.metric("accuracy", agreement)
    for task in ("classify", "tag"):
        with pytest.raises(ConfigError, match=f"train.metrics has accuracy, which is a score of {task} itself"):
            experiment({"task": task, "train": {"metrics": "accuracy"}})
    assert experiment({"task": "translate", "train": {"metrics": "accuracy"}}).train


def test_the_config_of_a_task_lists_all_its_scores() -> None:
    for task, corpus in (("classify", "numbers"), ("tag", "brackets"), ("translate", "copy"), ("caption", "scenes")):
        data = {"corpus": corpus, "examples": 200, "corpus_length": 2, "valid_share": 0.2}
        decode = {"decode": {"max_length": 5}} if task in ("translate", "caption") else {}
        run = seqloom.train(task, size="tiny", data=data, train={**QUICK, "steps": 1}, out=task, **decode)
        assert set(run.scores["valid"]) <= set(TASKS[task].config.scores)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (lambda answers, references: answers[0] / 0, "raised TypeError: "),
        (lambda answers, references: "high", "returned 'high', not a number. Return a float."),
        (lambda answers, references: None, "returned None, not a number."),
        (lambda answers, references: True, "returned True, not a number."),
        (lambda answers, references: torch.ones(2), "returned tensor([1., 1.]), not a number."),
    ],
)
def test_a_metric_that_fails_is_one_message(part: Callable[..., object], message: str) -> None:
    seqloom.register.metric("mine", part)
    with pytest.raises(PartError) as error:
        seqloom.train("tag", size="tiny", data=TINY["data"], train={**QUICK, "metrics": "mine"}, out="run")
    assert str(error.value).startswith(f"{__file__}:")
    assert f": the metric 'mine' {message}" in str(error.value)


@pytest.mark.parametrize(
    ("name", "part", "message"),
    [
        ("word-error-rate", agreement, "the metric 'word-error-rate' is taken"),
        ("mine", lambda answers: 1, "takes (answers), not (answers, references). Write a function of (answers,"),
        ("mine", 3, "is 3, not a function"),
    ],
)
def test_an_invalid_metric_is_refused(name: str, part: object, message: str) -> None:
    with pytest.raises(PartError) as error:
        seqloom.register.metric(name, part)
    assert message in str(error.value)


def test_a_metric_declares_whether_higher_is_better() -> None:
    @seqloom.register.metric("mine", higher_is_better=False)
    def mine(answers: object, references: object) -> float:
        """How bad it is."""
        return 0.0

    assert METRICS["mine"].summary == "How bad it is (lower is better)"
    assert METRICS["word-error-rate"].summary.endswith("(lower is better)")


# Valid and invalid optimizers and metrics -----------------------------------------------------------------------------


class Counting(SGD):
    """Its learning rate depends on a count in an attribute, which no checkpoint has."""

    count = 0

    def step(self, closure: Any = None) -> Any:
        self.count += 1
        for group in self.param_groups:
            group["lr"] = 0.1 / self.count
        return super().step()


class Momenta(SGD):
    """It changes its momentum, a tuple in its groups."""

    def __init__(self, groups: Any, lr: float) -> None:
        super().__init__(groups, lr=lr)
        for group in self.param_groups:
            group["momenta"] = (0.5, 0.5)

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            group["momenta"] = (group["momenta"][0] * 0.9, 0.5)
            group["lr"] = group["momenta"][0]
        return super().step()


class InGroups(SGD):
    """It adds a count to its groups at the first step."""

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            group["count"] = group.get("count", 0) + 1
            group["dampening"] = 1 / group["count"]
        return super().step()


class Noisy(SGD):
    """It adds random noise."""

    def step(self, closure: Any = None) -> Any:
        with torch.no_grad():
            for group in self.param_groups:
                for weight in group["params"]:
                    weight.add_(torch.randn_like(weight), alpha=0.01)
        return super().step()


def test_an_optimizer_that_would_resume_differently_is_refused() -> None:
    for part in (Counting, Momenta):
        with pytest.raises(PartError, match=r"'mine' gives different steps after its state was saved and restored\."):
            seqloom.register.optimizer("mine", part)
    for number, part in enumerate((InGroups, Noisy, torch.optim.Adamax, torch.optim.NAdam, Adafactor)):
        seqloom.register.optimizer(f"fine-{number}", part)


@pytest.mark.parametrize("part", [InGroups, Noisy])
def test_a_valid_optimizer_resumes_bit_for_bit(part: type[Optimizer]) -> None:
    seqloom.register.optimizer("mine", part)
    values = TINY | {"train": TINY["train"] | {"optimizer": "mine"}}
    uninterrupted = seqloom.train("tag", **values, out="whole")

    def stop(event: object) -> None:
        if isinstance(event, Saved) and event.step == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seqloom.train("tag", **values, out="stopped", listeners=[stop])
    assert seqloom.resume("stopped").manifest.model == uninterrupted.manifest.model


class Lookahead(SGD):
    """It has slow weights in an attribute, and uses them every 20 steps."""

    def __init__(self, groups: Any, lr: float) -> None:
        super().__init__(groups, lr=lr)
        self.count, self.slow = (
            0,
            [weight.detach().clone() for group in self.param_groups for weight in group["params"]],
        )

    def step(self, closure: Any = None) -> Any:
        super().step()
        self.count += 1
        if self.count % 20 == 0:
            with torch.no_grad():
                for slow, weight in zip(self.slow, self.param_groups[0]["params"], strict=True):
                    weight.copy_(slow.lerp_(weight, 0.5))


def test_an_optimizer_with_hidden_state_or_other_weights_is_refused() -> None:
    with pytest.raises(PartError, match="'mine' gives different steps after its state was saved and restored"):
        seqloom.register.optimizer("mine", Lookahead)
    with pytest.raises(PartError, match=r"'mine' has other weights than it was given\. Give it the groups"):
        seqloom.register.optimizer("mine", lambda groups, train: SGD([torch.nn.Parameter(torch.ones(1))], lr=1))
    calls = iter(range(1, 100))
    with pytest.raises(PartError, match=r"the schedule 'mine' gave two results for step 0 of 1\. Compute the factor"):
        seqloom.register.schedule("mine", lambda state, train: 1 / next(calls))


def test_the_rates_of_groups_keep_their_ratios() -> None:
    rates: list[list[float]] = []

    class Watched(SGD):
        def step(self, closure: Any = None) -> Any:
            rates.append([float(group["lr"]) for group in self.param_groups])
            return super().step()

    @seqloom.register.optimizer("two-rates")
    def two_rates(groups: list[dict[str, Any]], train: Train) -> Optimizer:
        weights = [weight for group in groups for weight in group["params"]]
        first = {"params": weights[:1], "lr": train.lr / 10}
        return Watched([first, {"params": weights[1:]}] if weights[1:] else [first], lr=train.lr)

    rates.clear()
    values = TINY | {"train": TINY["train"] | {"optimizer": "two-rates", "schedule": "cosine", "lr": 0.1}}
    seqloom.train("tag", **values, out="run")
    assert rates[0] == pytest.approx([0.01, 0.1])
    assert [smaller / larger for smaller, larger in rates] == pytest.approx([0.1] * len(rates))
    assert rates[-1][1] < 0.1


def test_the_location_of_an_object_is_its_registration() -> None:
    class Longest:
        def __call__(self, answers: Sequence[object], references: Sequence[object]) -> object:
            return "high"

    seqloom.register.metric("mine", Longest())
    with pytest.raises(PartError) as error:
        MetricInputs(["mine"]).scores()
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = lines.index('    seqloom.register.metric("mine", Longest())') + 1
    assert error.value.problem.location == f"{__file__}:{line}"


class NoRate(Optimizer):
    """Its groups have no learning rate."""

    def __init__(self, groups: Any) -> None:
        super().__init__(groups, {"step": 1e-3})

    def step(self, closure: Any = None) -> Any:
        with torch.no_grad():
            for group in self.param_groups:
                for weight in group["params"]:
                    weight.sub_(weight.grad, alpha=group["step"])


def test_groups_need_no_learning_rate() -> None:
    seqloom.register.optimizer("mine", lambda groups, train: NoRate(groups))
    seqloom.train("tag", **TINY | {"train": TINY["train"] | {"optimizer": "mine"}}, out="run")


def test_a_metric_may_be_nan(capsys: pytest.CaptureFixture[str]) -> None:
    @seqloom.register.metric("no-number")
    def no_number(answers: Sequence[object], references: Sequence[object]) -> float:
        return math.nan

    values = TINY | {"train": TINY["train"] | {"metrics": ["no-number"]}}
    assert math.isnan(seqloom.train("tag", **values, out="run").scores["valid"]["no-number"])
    words = ["--size", "tiny", "--data.examples", "60", "--train.steps", "2", "--device", "cpu"]
    assert main(["train", "classify", *words, "--train.metrics", "no-number", "--out", "again"]) == 0
    assert "no-number not a number" in capsys.readouterr().out
