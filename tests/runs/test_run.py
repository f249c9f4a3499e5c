"""A loaded run: its predictions, and its errors for a damaged folder."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import seqloom
from seqloom.cli.main import main
from seqloom.core import run_format
from seqloom.core.problem import ConfigError, RunError, TextError, UserError
from seqloom.core.run_format import sha256
from seqloom.runs.run import MAX_TEXT, Run, decode_options
from tests.runs.small import TEXTS, assert_close, model_inputs, recommitted

pytestmark = pytest.mark.usefixtures("unchecked")


# Answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_does_not_depend_on_the_batch_or_the_order(run: Run) -> None:
    together = run.predict(TEXTS)
    assert [answer["text"] for answer in together] == TEXTS
    for text_, answer in zip(TEXTS, together, strict=True):
        assert_close(run.predict([text_])[0], answer)
    assert_close(run.predict(TEXTS[::-1])[::-1], together)


def test_several_batches_are_predicted(run: Run) -> None:
    texts = [f"{'abc'[i % 3]} {i}" for i in range(130)]
    answers = run.predict(texts)
    assert [answer["text"] for answer in answers] == texts
    assert_close(answers[100], run.predict(texts[100:101])[0])


def test_invalid_texts_are_refused(run: Run) -> None:
    with pytest.raises(UserError, match=r"^predict: give a list of texts, even of one: predict\(\[text\]\)\.$"):
        run.predict("a text")
    for value, kind in ((1, "int"), (b"a", "bytes"), (None, "NoneType")):
        with pytest.raises(UserError, match=rf"^predict: text 2 is of type {kind}, not a text\.$"):
            run.predict(["a", value])  # type: ignore[list-item]
    with pytest.raises(UserError, match=r"^predict: give a list of texts"):
        run.predict(None)  # type: ignore[arg-type]
    assert run.predict(text for text in ("a", "b")) == run.predict(["a", "b"])  # type: ignore[arg-type]
    for empty in ("", "  \n\t"):
        with pytest.raises(UserError, match=r"^predict: text 2 is empty\. Give at least one word\.$"):
            run.predict(["a", empty])
    with pytest.raises(UserError, match=r"^text 1: 1,000,001 characters; at most 1,000,000\. Split it\.$"):
        run.predict(["x" * (MAX_TEXT + 1)])
    assert run.predict([]) == []


def test_the_error_of_a_text_has_its_number_among_all(run: Run) -> None:
    if run.task.name == "translate":
        with pytest.raises(TextError, match=r"^text 70: '漢字' has no word in the model's vocabulary\.") as wrong:
            run.predict([*["a b"] * 69, "漢字"])
        assert wrong.value.number == 70


def test_only_a_language_model_generates(run: Run) -> None:
    if run.task.name != "language":
        with pytest.raises(
            UserError, match=rf"needs a language model; the task of this run is {run.task.name}\. Use `seqloom predict "
        ):
            run.generate("a")
        return
    options = {"max_length": 20, "temperature": 0.9, "seed": 4}
    generated = run.generate("abc", **options)
    assert generated == run.generate("abc", **options) == "".join(run.stream("abc", **options))
    assert generated != run.generate("abc", **{**options, "seed": 5})
    assert run.generate(**options)
    with pytest.raises(ConfigError, match="temperatur"):
        run.generate("a", temperatur=1.0)


def test_decoding_options_are_only_for_translators(run: Run) -> None:
    if run.task.name == "translate":
        answer = run.predict(["a b"], beam_size=3, n_best=2, attention=True)[0]
        assert len(answer["n_best"]) == 2
        assert "attention" in answer
        with pytest.raises(ConfigError, match=r"^unknown key decode\.beam_sise\. Did you mean decode\.beam_size\?"):
            run.predict(["a"], beam_sise=3)
        with pytest.raises(ConfigError, match=r"^decode\.n_best is 3, more than decode\.beam_size, 2\."):
            run.predict(["a"], beam_size=2, n_best=3)
        return
    for name, options in (("beam_size", {"beam_size": 3}), ("attention", {"attention": True})):
        expected = rf": {name} is only for tasks whose answers are texts; the task of this run is {run.task.name}\.$"
        with pytest.raises(UserError, match=expected):
            run.predict(["a"], **options)


def test_a_beam_resets_the_temperature_and_the_reverse(run: Run) -> None:
    if run.task.name not in ("translate", "language"):
        return
    beam = decode_options(run.experiment, {"beam_size": 3})
    sampling = decode_options(run.experiment, {"temperature": 0.5})
    assert (beam.beam_size, beam.temperature) == (3, 0)
    assert (sampling.beam_size, sampling.temperature) == (1, 0.5)
    again = decode_options(run.experiment.model_copy(update={"decode": sampling}), {"beam_size": 2})
    assert (again.beam_size, again.temperature) == (2, 0)
    for set_first, set_again in (
        ({"beam_size": 10, "temperature": 0}, {"temperature": "0"}),
        ({"temperature": 0.5}, {"beam_size": 1}),
    ):
        config = decode_options(run.experiment, set_first)
        assert decode_options(run.experiment.model_copy(update={"decode": config}), set_again) == config


def test_between_streamed_chunks_torch_has_its_own_modes(run: Run) -> None:
    """Tensors that a caller creates during generation are ordinary ones, with gradients."""
    if run.task.name != "language":
        return
    for _ in run.stream("abc", max_length=5, seed=1):
        assert not torch.is_inference_mode_enabled()
        assert torch.is_grad_enabled()
        ones = torch.ones(2, requires_grad=True)
        assert not ones.is_inference()
        (ones * 2).sum().backward()
        assert ones.grad is not None


def test_weights_can_be_trained_after_predict(run: Run) -> None:
    """`predict`, which loads the weights, is in inference mode."""
    loaded = seqloom.load(run.folder)
    loaded.predict(TEXTS)
    assert not any(tensor.is_inference() for tensor in (*loaded.model.parameters(), *loaded.model.buffers()))
    y, _ = loaded.model.train()(*model_inputs(run))
    y.sum().backward()
    torch.optim.SGD(loaded.model.parameters(), lr=0.1).step()


def test_the_repr_describes_the_run(run: Run) -> None:
    description = repr(run)
    assert run.task.name in description
    assert f"{run.manifest.parameters:,} parameters" in description


# Folders ----------------------------------------------------------------------------------------------------------


def test_a_copy_predicts_the_same(run: Run, copy: Path) -> None:
    for name in ("local.json", "metrics.jsonl", "scores.json", "report.html"):
        (copy / name).unlink()
    shutil.rmtree(copy / "checkpoints")  # predict does not need them
    assert seqloom.load(copy).predict(TEXTS) == run.predict(TEXTS)
    assert seqloom.load(copy).scores == {}


def test_a_flipped_byte_in_any_file_is_refused(copy: Path) -> None:
    for name in json.loads((copy / "manifest.json").read_text())["files"]:
        content = (copy / name).read_bytes()
        middle = len(content) // 2
        (copy / name).write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        with pytest.raises(RunError, match=r"damaged: its SHA-256 is not the one in manifest\.json") as wrong:
            seqloom.load(copy)
        assert str(copy / name) in str(wrong.value)
        assert "\n" not in str(wrong.value)
        (copy / name).write_bytes(content)


def weights_of(folder: Path) -> Path:
    (weights_file,) = folder.glob("model-*.safetensors")
    return weights_file


def change(weights: dict[str, torch.Tensor], how: str) -> dict[str, torch.Tensor]:
    first = next(iter(weights))
    if how == "missing":
        return {name: tensor for name, tensor in weights.items() if name != first}
    if how == "more":
        return {**weights, "stranger": torch.zeros(2)}
    return {**weights, first: torch.zeros(3, 3, 3)}


@pytest.mark.parametrize("how", ["missing", "more", "shape"])
def test_weights_that_do_not_fit_are_refused(how: str, copy: Path) -> None:
    path = weights_of(copy)
    save_file(change(load_file(path), how), path)
    recommitted(copy)
    with pytest.raises(RunError, match=r"does not fit experiment\.toml \(.+\)\. Restore") as wrong:
        seqloom.load(copy).predict(["a"])
    assert "\n" not in str(wrong.value)
    assert "Error(s) in loading" not in str(wrong.value)


def test_a_weights_file_of_another_format_is_refused(copy: Path) -> None:
    weights_of(copy).write_bytes(b"PK\x03\x04 perhaps a pickle")
    recommitted(copy)
    with pytest.raises(RunError, match=r"model-.*does not fit") as wrong:
        seqloom.load(copy).predict(["a"])
    assert "\n" not in str(wrong.value)


def test_a_run_of_a_newer_version_is_refused(copy: Path) -> None:
    recommitted(copy, format=99, versions={"seqloom": "7.0"})
    newer = rf"made by a newer seqloom \(7\.0, format 99; this one reads format {run_format.FORMAT}\)"
    with pytest.raises(RunError, match=newer):
        seqloom.load(copy)


def test_an_invalid_config_is_refused(copy: Path) -> None:
    path = copy / "experiment.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("[train]\n", "[train]\nmade_up = 1\n"), encoding="utf-8")
    recommitted(copy)
    with pytest.raises(RunError, match=r"experiment\.toml: unknown key train\.made_up"):
        _ = seqloom.load(copy).experiment


def test_a_missing_vocabulary_is_refused(copy: Path) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    missing = next(name for name in manifest["files"] if name.startswith("vocabulary/"))
    manifest["files"].pop(missing)
    (copy / "manifest.json").write_text(json.dumps(manifest))  # a file that is not in the manifest is not used
    with pytest.raises(RunError, match=rf"'{Path(missing).name}' is missing\. Restore the folder from a copy\."):
        seqloom.load(copy).predict(["a"])


def test_a_file_that_is_not_in_the_manifest_is_ignored(run: Run, copy: Path) -> None:
    (copy / "vocabulary" / "several.json").write_text("true")
    (copy / "vocabulary" / "folder").mkdir()
    assert seqloom.load(copy).predict(TEXTS) == run.predict(TEXTS)


@pytest.mark.parametrize("command", ["predict RUN text", "evaluate RUN FILE", "generate RUN", "resume RUN"])
def test_a_run_of_an_unregistered_task_is_refused(command: str, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recommitted(copy, task="summarize")
    words = [{"RUN": str(copy), "FILE": __file__}.get(word, word) for word in command.split()]
    assert main(words) == 2
    message = (
        f"seqloom: {copy}: a run of the task 'summarize', which is not registered here (there are language, classify"
    )
    assert " ".join(capsys.readouterr().err.split()).startswith(message)


# Start-up ---------------------------------------------------------------------------------------------------------


def test_a_first_prediction_imports_neither_the_compiler_nor_the_report(run: Run) -> None:
    code = (
        "import sys, seqloom; seqloom.load(sys.argv[1]).predict(['a b']); "
        "print([name for name in ('torch._dynamo', 'sympy', 'seqloom.lens.report') if name in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", code, str(run.folder)], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_a_prediction_hashes_each_file_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Path] = []

    def recorded(path: Path) -> str:
        hashed.append(path.relative_to(run.folder))
        return sha256(path)

    monkeypatch.setattr(run_format, "sha256", recorded)
    assert main(["predict", str(run.folder), "a b"]) == 0
    assert sorted(map(str, hashed)) == sorted(run.manifest.files)
