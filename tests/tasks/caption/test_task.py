"""Pictures to be described: images, or grids of features of any size; what can't be looked at is a sentence."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import seqloom
from seqloom.api import start
from seqloom.core.problem import DataError, RunError, UserError
from seqloom.data.images import normalize_images, read_image
from seqloom.data.source import DataSource
from seqloom.runs.run import Run
from seqloom.tasks.caption.config import DATA_SPEC
from seqloom.tasks.caption.task import KIND_FILE, Caption, image_of
from seqloom.tasks.registry import experiment
from tests.runs.small import recommitted

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}
GRIDS = [(2, 3), (1, 4), (3, 3), (2, 2)]
WIDTH = 5


def draw(folder: Path) -> Path:
    """Thirty images of one colour, and two captions of each."""
    (folder / "photos").mkdir()
    rows = []
    for i in range(30):
        name = [*COLOURS][i % 3]
        Image.new("RGB", (12 + i, 9), COLOURS[name]).save(folder / f"photos/{i}.png")
        rows += [f"photos/{i}.png\t{said} {name} photo\n" for said in ("a", "one")]
    (folder / "captions.tsv").write_text("".join(rows))
    return folder / "captions.tsv"


def grids(folder: Path) -> Path:
    """Twenty grids, of unequal sizes."""
    draws = np.random.default_rng(1)
    (folder / "grids").mkdir()
    for i in range(20):
        np.save(folder / f"grids/{i}.npy", draws.standard_normal((*GRIDS[i % 4], WIDTH)).astype(np.float32))
    rows = [f"grids/{i}.npy\ta grid of {'odd' if i % 2 else 'even'}\n" for i in range(20)]
    (folder / "captions.tsv").write_text("".join(rows))
    return folder / "captions.tsv"


def chosen(path: Path, arch: str = "gru", model: dict[str, Any] | None = None, **data: Any) -> Any:
    asked = {"train": str(path), "valid_share": 0.3, "min_count": 1, "image_size": 16, **data}
    parts = {"arch": arch, "size": "tiny", **(model or {})}
    train = {"steps": 6, "validate_every": 6, "device": "cpu"}
    return experiment(
        {"task": "caption", "data": asked, "model": parts, "train": train, "decode": {"max_length": 5, "beam_size": 2}}
    )


def task_of(path: Path, **data: Any) -> Caption:
    asked = chosen(path, **data)
    task = Caption.prepare(asked, DataSource.resolve(asked.data, DATA_SPEC).hashed())
    assert isinstance(task, Caption)
    return task


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of images."""
    folder = tmp_path_factory.mktemp("drawn")
    return start(chosen(draw(folder)), folder / "run")


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of features."""
    folder = tmp_path_factory.mktemp("given")
    return start(chosen(grids(folder)), folder / "run")


def photo(run: Run, name: str) -> str:
    return str(run.folder.parent / name)


# Images -----------------------------------------------------------------------------------------------------------


def test_a_batch_of_images_is_what_their_files_hold(tmp_path: Path) -> None:
    task = task_of(draw(tmp_path))
    part = task.data.splits["train"]
    batch = task.batch(task.epoch(0)[0])
    assert batch.lengths is None  # all of an image is real
    for picture, row in zip(batch.source, batch.rows, strict=True):
        path = tmp_path / task.images.name(image_of(part, row))
        torch.testing.assert_close(picture, torch.from_numpy(normalize_images(read_image(path, 16))))
    assert set(task.source_lengths(part)) == {task.max_source_length} == {4}  # 16 pixels, halved three times


def test_each_image_is_described_once_and_judged_by_all_its_captions(drawn: Run) -> None:
    details = drawn.scores["details"]
    first = details["examples"][0]
    assert sorted(said.split()[0] for said in first["references"]) == ["a", "one"]
    assert len({each["image"] for each in details["examples"]}) == len(details["examples"])
    assert first["thumbnail"].startswith("data:image/png;base64,")
    assert first["place"].startswith("captions.tsv:") or "captions.tsv:" in first["place"]
    assert details["signatures"]["bleu"].startswith("nrefs:2|")
    assert drawn.scores["chosen_by"] == "bleu_4"
    assert {"bleu_1", "bleu_2", "bleu_3", "bleu_4", "chrf", "exact_match", "loss"} <= set(drawn.scores["valid"])


def test_an_answer_about_an_image(drawn: Run) -> None:
    path = photo(drawn, "photos/3.png")
    answer = drawn.predict([path], attention=True)[0]
    assert (answer["image"], answer["regions"]) == (path, [2, 2])
    weights = torch.tensor(answer["attention"])
    assert weights.shape == (len(answer["log_probs"]), 4)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(len(weights)), atol=1e-5, rtol=0)
    assert set(answer["tokens"]) <= {"a", "one", "red", "green", "blue", "photo"}
    assert "attention" not in drawn.predict([path])[0]


def test_patches_are_regions_too(tmp_path: Path) -> None:
    run = start(chosen(draw(tmp_path), "transformer", {"stem": "patches", "patch": 4}), tmp_path / "run")
    assert seqloom.load(run.folder).predict([photo(run, "photos/0.png")])[0]["regions"] == [4, 4]


def test_an_image_that_is_not_one_is_skipped_or_refused_as_asked(tmp_path: Path) -> None:
    path = draw(tmp_path)
    (tmp_path / "photos/4.png").write_text("not an image")
    (tmp_path / "photos/5.png").unlink()
    with pytest.raises(
        DataError, match=r"captions\.tsv:9: 'photos/4\.png' is not an image .*data\.on_bad_image skip\.$"
    ):
        task_of(path)
    task = task_of(path, on_bad_image="skip")
    assert sum(len(part) for part in task.data.splits.values()) == 56
    assert "; 2 unreadable images skipped" in task.describe()


def test_images_in_two_parts_are_told(tmp_path: Path) -> None:
    path, valid = draw(tmp_path), tmp_path / "v.tsv"
    valid.write_text("photos/../photos/4.png\tseen\n")
    asked = experiment({"task": "caption", "data": {"train": str(path), "valid": str(valid), "image_size": 16}})
    task = Caption.prepare(asked, DataSource.resolve(asked.data, DATA_SPEC).hashed())
    assert "; 1 caption of valid with an image that is also in train: its scores will be too high" in task.describe()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("photos/99.png", r"photos/99\.png: is not there\. Check the name and the folder\.$"),
        ("two\nlines\x1b.png", r"/two\\nlines\\x1b\.png': is not there\. Check the name and the folder\.$"),
        ("captions.tsv", r"captions\.tsv: is not an image \(its content is none of JPEG, .*Name another file\.$"),
        ("grid.npy", r"grid\.npy is features of width 5, but this run was trained on an image\. Name another file\.$"),
    ],
)
def test_what_can_not_be_looked_at(drawn: Run, name: str, sentence: str) -> None:
    np.save(drawn.folder.parent / "grid.npy", np.zeros((2, 2, WIDTH), np.float32))
    with pytest.raises(UserError, match=sentence) as wrong:
        drawn.predict([photo(drawn, "photos/0.png"), photo(drawn, name)])
    assert "\n" not in str(wrong.value)


# Features ---------------------------------------------------------------------------------------------------------


def test_grids_of_unequal_size_are_regions_in_a_row(tmp_path: Path) -> None:
    task = task_of(grids(tmp_path))
    part = task.data.splits["train"]
    assert (task.features, task.max_source_length) == (WIDTH, 9)
    sizes = set()
    for batch in map(task.batch, task.epoch(0)):
        assert batch.lengths is not None
        for regions, length, row in zip(batch.source, batch.lengths.tolist(), batch.rows, strict=True):
            of_file = np.load(tmp_path / task.images.name(image_of(part, row)))
            assert regions[:length].tolist() == of_file.reshape(-1, WIDTH).tolist()
            assert not regions[length:].any()
            sizes.add(length)
    assert sizes == {4, 6, 9}


def test_regions_count_in_a_batch_however_many_tokens_are_read(tmp_path: Path) -> None:
    """data.max_length cuts captions, not pictures."""
    asked = chosen(grids(tmp_path), max_length=3)
    asked = asked.model_copy(update={"train": asked.train.model_copy(update={"batch_tokens": 30})})
    task = Caption.prepare(asked, DataSource.resolve(asked.data, DATA_SPEC).hashed())
    batches = map(task.batch, task.epoch(0))
    sizes = [(len(batch.rows), batch.source.shape[1] + batch.target.shape[1]) for batch in batches]
    assert max(count * each for count, each in sizes) <= 30
    assert max(count for count, _ in sizes) > 1
    assert max(each for _, each in sizes) == 9 + 4


def test_answers_about_grids_do_not_depend_on_their_neighbours(given: Run) -> None:
    paths = [photo(given, f"grids/{i}.npy") for i in range(6)]
    together = given.predict(paths, attention=True)
    for i, (path, answer) in enumerate(zip(paths, together, strict=True)):
        rows, columns = answer["regions"]
        assert (rows, columns) == GRIDS[i % 4]
        alone = given.predict([path], attention=True)[0]
        assert alone["tokens"] == answer["tokens"]
        assert alone["log_probs"] == pytest.approx(answer["log_probs"], abs=1e-4)
        weights = torch.tensor(answer["attention"])
        assert weights.shape == (len(answer["log_probs"]), rows * columns)
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(len(weights)), atol=1e-5, rtol=0)


def test_features_that_do_not_fit_the_run(given: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", np.zeros((2, 2, WIDTH + 1), np.float32))
    Image.new("RGB", (9, 9)).save(tmp_path / "photo.png")
    for name, sentence in (
        ("wide.npy", r"is features of width 6, but this run was trained on features of width 5\. Name another file\.$"),
        ("photo.png", r"is an image, but this run was trained on features of width 5\. Name another file\.$"),
    ):
        with pytest.raises(UserError, match=sentence):
            given.predict([str(tmp_path / name)])


@pytest.mark.parametrize("encoder", ["none", "gru", "transformer", "mixer"])
def test_a_grid_is_too_large_only_for_an_encoder_that_has_a_limit(encoder: str, tmp_path: Path) -> None:
    run = start(chosen(grids(tmp_path), model={"encoder": encoder}), tmp_path / "run")
    large, table = tmp_path / "large.npy", tmp_path / "test.tsv"
    np.save(large, np.zeros((5, 5, WIDTH), np.float32))
    table.write_text("grids/2.npy\ta grid of even\nlarge.npy\ta grid of odd\n")
    if encoder != "mixer":
        assert run.predict([str(large)])[0]["regions"] == [5, 5]
        assert len(run.evaluate(table).details["examples"]) == 2
        return
    told = "25 regions, but the model reads at most 9. Make the grid smaller, or train with another model.encoder"
    for place, ask in ((large, lambda: run.predict([str(large)])), ("test.tsv:2", lambda: run.evaluate(table))):
        with pytest.raises(DataError) as wrong:
            ask()
        assert str(wrong.value).startswith(f"{place}: {told}")


def test_evaluate_reads_features_as_the_run_does(given: Run) -> None:
    again = given.evaluate([given.folder.parent / "captions.tsv"])
    assert "20 test" in again.details["data"]
    assert "thumbnail" not in again.details["examples"][0]


# The run's own files ----------------------------------------------------------------------------------------------


def test_files_of_a_run_give_the_same_again(given: Run, drawn: Run) -> None:
    for run, features, regions in ((given, WIDTH, 9), (drawn, 0, 0)):
        told = json.loads((run.folder / "vocabulary" / KIND_FILE).read_text())
        assert told == {"features": features, "regions": regions}
        again = Caption.from_files(run.experiment, run.task.files())
        assert again.files() == run.task.files()


SIZES = [f'{{"features": {x}, "regions": {y}}}' for x, y in (("1e999", 1), (-5, 1), (5, 1.5), ("true", 1), (5, 10**9))]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"features": 5}', '{"features": "x", "regions": 1}', "[" * 9999, *SIZES]
)
def test_a_damaged_file_is_a_sentence(given: Run, content: str, tmp_path: Path) -> None:
    copy = shutil.copytree(given.folder, tmp_path / "copy")
    (copy / "vocabulary" / KIND_FILE).write_text(content)
    recommitted(copy)
    with pytest.raises(RunError) as wrong:
        seqloom.load(copy).predict([photo(given, "grids/0.npy")])
    told = "not the sizes of pictures, so it is damaged. Restore the file from a copy."
    assert str(wrong.value) == f"{copy / 'vocabulary' / KIND_FILE}: {told}"


def test_a_copy_of_the_run_needs_no_pictures(drawn: Run, tmp_path: Path) -> None:
    copy = shutil.copytree(drawn.folder, tmp_path / "copy")
    Image.new("RGB", (12, 9), COLOURS["red"]).save(tmp_path / "new.png")
    path = str(tmp_path / "new.png")
    assert seqloom.load(copy).predict([path]) == drawn.predict([path])
