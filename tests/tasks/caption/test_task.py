"""Captioning of images and of grids of features of any size; other inputs are refused."""

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


def write_images(folder: Path) -> Path:
    """Thirty images of one color, with two captions each."""
    (folder / "photos").mkdir()
    rows = []
    for i in range(30):
        name = [*COLOURS][i % 3]
        Image.new("RGB", (12 + i, 9), COLOURS[name]).save(folder / f"photos/{i}.png")
        rows += [f"photos/{i}.png\t{article} {name} photo\n" for article in ("a", "one")]
    (folder / "captions.tsv").write_text("".join(rows))
    return folder / "captions.tsv"


def write_grids(folder: Path) -> Path:
    """Twenty grids of features of unequal sizes."""
    draws = np.random.default_rng(1)
    (folder / "grids").mkdir()
    for i in range(20):
        np.save(folder / f"grids/{i}.npy", draws.standard_normal((*GRIDS[i % 4], WIDTH)).astype(np.float32))
    rows = [f"grids/{i}.npy\ta grid of {'odd' if i % 2 else 'even'}\n" for i in range(20)]
    (folder / "captions.tsv").write_text("".join(rows))
    return folder / "captions.tsv"


def config_of(path: Path, arch: str = "gru", model: dict[str, Any] | None = None, **data: Any) -> Any:
    data_config = {"train": str(path), "valid_share": 0.3, "min_count": 1, "image_size": 16, **data}
    model_config = {"arch": arch, "size": "tiny", **(model or {})}
    train = {"steps": 6, "validate_every": 6, "device": "cpu"}
    return experiment(
        {
            "task": "caption",
            "data": data_config,
            "model": model_config,
            "train": train,
            "decode": {"max_length": 5, "beam_size": 2},
        }
    )


def task_of(path: Path, **data: Any) -> Caption:
    config = config_of(path, **data)
    task = Caption.prepare(config, DataSource.resolve(config.data, DATA_SPEC).hashed())
    assert isinstance(task, Caption)
    return task


@pytest.fixture(scope="module")
def images_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of images."""
    folder = tmp_path_factory.mktemp("drawn")
    return start(config_of(write_images(folder)), folder / "run")


@pytest.fixture(scope="module")
def features_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of features."""
    folder = tmp_path_factory.mktemp("given")
    return start(config_of(write_grids(folder)), folder / "run")


def photo(run: Run, name: str) -> str:
    return str(run.folder.parent / name)


# Images -----------------------------------------------------------------------------------------------------------


def test_a_batch_has_the_images_of_the_files(tmp_path: Path) -> None:
    task = task_of(write_images(tmp_path))
    split = task.data.splits["train"]
    batch = task.batch(task.epoch(0)[0])
    assert batch.lengths is None  # images have no padding
    for image, row in zip(batch.source, batch.rows, strict=True):
        path = tmp_path / task.images.name(image_of(split, row))
        torch.testing.assert_close(image, torch.from_numpy(normalize_images(read_image(path, 16))))
    assert set(task.source_lengths(split)) == {task.max_source_length} == {4}  # 16 pixels, halved three times


def test_each_image_is_scored_once_against_all_its_captions(images_run: Run) -> None:
    details = images_run.scores["details"]
    first = details["examples"][0]
    assert sorted(caption.split()[0] for caption in first["references"]) == ["a", "one"]
    assert len({example["image"] for example in details["examples"]}) == len(details["examples"])
    assert first["thumbnail"].startswith("data:image/png;base64,")
    assert first["place"].startswith("captions.tsv:") or "captions.tsv:" in first["place"]
    assert details["signatures"]["bleu"].startswith("nrefs:2|")
    assert images_run.scores["chosen_by"] == "bleu_4"
    assert {"bleu_1", "bleu_2", "bleu_3", "bleu_4", "chrf", "exact_match", "loss"} <= set(images_run.scores["valid"])


def test_predict_returns_a_caption_with_attention(images_run: Run) -> None:
    path = photo(images_run, "photos/3.png")
    answer = images_run.predict([path], attention=True)[0]
    assert (answer["image"], answer["regions"]) == (path, [2, 2])
    weights = torch.tensor(answer["attention"])
    assert weights.shape == (len(answer["log_probs"]), 4)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(len(weights)), atol=1e-5, rtol=0)
    assert set(answer["tokens"]) <= {"a", "one", "red", "green", "blue", "photo"}
    assert "attention" not in images_run.predict([path])[0]


def test_each_patch_is_a_region(tmp_path: Path) -> None:
    run = start(config_of(write_images(tmp_path), "transformer", {"stem": "patches", "patch": 4}), tmp_path / "run")
    assert seqloom.load(run.folder).predict([photo(run, "photos/0.png")])[0]["regions"] == [4, 4]


def test_an_unreadable_image_is_skipped_or_refused(tmp_path: Path) -> None:
    path = write_images(tmp_path)
    (tmp_path / "photos/4.png").write_text("not an image")
    (tmp_path / "photos/5.png").unlink()
    with pytest.raises(
        DataError, match=r"captions\.tsv:9: 'photos/4\.png' is not an image .*data\.on_bad_image skip\.$"
    ):
        task_of(path)
    task = task_of(path, on_bad_image="skip")
    assert sum(len(split) for split in task.data.splits.values()) == 56
    assert "; 2 unreadable images skipped" in task.describe()


def test_images_in_two_splits_are_reported(tmp_path: Path) -> None:
    path, valid = write_images(tmp_path), tmp_path / "v.tsv"
    valid.write_text("photos/../photos/4.png\tseen\n")
    config = experiment({"task": "caption", "data": {"train": str(path), "valid": str(valid), "image_size": 16}})
    task = Caption.prepare(config, DataSource.resolve(config.data, DATA_SPEC).hashed())
    assert "; 1 caption of valid with an image that is also in train: its scores will be too high" in task.describe()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("photos/99.png", r"photos/99\.png: is not there\. Check the name and the folder\.$"),
        ("two\nlines\x1b.png", r"/two\\nlines\\x1b\.png': is not there\. Check the name and the folder\.$"),
        ("captions.tsv", r"captions\.tsv: is not an image \(its content is none of JPEG, .*Name another file\.$"),
        ("grid.npy", r"grid\.npy is features of width 5, but this run was trained on an image\. Name another file\.$"),
    ],
)
def test_predict_refuses_an_input_that_is_no_image(images_run: Run, name: str, message: str) -> None:
    np.save(images_run.folder.parent / "grid.npy", np.zeros((2, 2, WIDTH), np.float32))
    with pytest.raises(UserError, match=message) as caught:
        images_run.predict([photo(images_run, "photos/0.png"), photo(images_run, name)])
    assert "\n" not in str(caught.value)


# Features ---------------------------------------------------------------------------------------------------------


def test_grids_of_unequal_size_are_flattened_and_padded(tmp_path: Path) -> None:
    task = task_of(write_grids(tmp_path))
    split = task.data.splits["train"]
    assert (task.features, task.max_source_length) == (WIDTH, 9)
    sizes = set()
    for batch in map(task.batch, task.epoch(0)):
        assert batch.lengths is not None
        for regions, length, row in zip(batch.source, batch.lengths.tolist(), batch.rows, strict=True):
            expected = np.load(tmp_path / task.images.name(image_of(split, row)))
            assert regions[:length].tolist() == expected.reshape(-1, WIDTH).tolist()
            assert not regions[length:].any()
            sizes.add(length)
    assert sizes == {4, 6, 9}


def test_a_batch_is_limited_by_regions_whatever_the_length_of_captions(tmp_path: Path) -> None:
    """data.max_length truncates captions, not images."""
    config = config_of(write_grids(tmp_path), max_length=3)
    config = config.model_copy(update={"train": config.train.model_copy(update={"batch_tokens": 30})})
    task = Caption.prepare(config, DataSource.resolve(config.data, DATA_SPEC).hashed())
    batches = map(task.batch, task.epoch(0))
    sizes = [(len(batch.rows), batch.source.shape[1] + batch.target.shape[1]) for batch in batches]
    assert max(count * length for count, length in sizes) <= 30
    assert max(count for count, _ in sizes) > 1
    assert max(length for _, length in sizes) == 9 + 4


def test_predictions_for_grids_do_not_depend_on_the_batch(features_run: Run) -> None:
    paths = [photo(features_run, f"grids/{i}.npy") for i in range(6)]
    together = features_run.predict(paths, attention=True)
    for i, (path, answer) in enumerate(zip(paths, together, strict=True)):
        rows, columns = answer["regions"]
        assert (rows, columns) == GRIDS[i % 4]
        alone = features_run.predict([path], attention=True)[0]
        assert alone["tokens"] == answer["tokens"]
        assert alone["log_probs"] == pytest.approx(answer["log_probs"], abs=1e-4)
        weights = torch.tensor(answer["attention"])
        assert weights.shape == (len(answer["log_probs"]), rows * columns)
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(len(weights)), atol=1e-5, rtol=0)


def test_features_of_another_width_are_refused(features_run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", np.zeros((2, 2, WIDTH + 1), np.float32))
    Image.new("RGB", (9, 9)).save(tmp_path / "photo.png")
    for name, message in (
        ("wide.npy", r"is features of width 6, but this run was trained on features of width 5\. Name another file\.$"),
        ("photo.png", r"is an image, but this run was trained on features of width 5\. Name another file\.$"),
    ):
        with pytest.raises(UserError, match=message):
            features_run.predict([str(tmp_path / name)])


@pytest.mark.parametrize("encoder", ["none", "gru", "transformer", "mixer"])
def test_a_grid_is_too_large_only_for_an_encoder_that_has_a_limit(encoder: str, tmp_path: Path) -> None:
    run = start(config_of(write_grids(tmp_path), model={"encoder": encoder}), tmp_path / "run")
    large, table = tmp_path / "large.npy", tmp_path / "test.tsv"
    np.save(large, np.zeros((5, 5, WIDTH), np.float32))
    table.write_text("grids/2.npy\ta grid of even\nlarge.npy\ta grid of odd\n")
    if encoder != "mixer":
        assert run.predict([str(large)])[0]["regions"] == [5, 5]
        assert len(run.evaluate(table).details["examples"]) == 2
        return
    message = "25 regions, but the model reads at most 9. Make the grid smaller, or train with another model.encoder"
    for location, ask in ((large, lambda: run.predict([str(large)])), ("test.tsv:2", lambda: run.evaluate(table))):
        with pytest.raises(DataError) as caught:
            ask()
        assert str(caught.value).startswith(f"{location}: {message}")


def test_evaluate_reads_features(features_run: Run) -> None:
    again = features_run.evaluate([features_run.folder.parent / "captions.tsv"])
    assert "20 test" in again.details["data"]
    assert "thumbnail" not in again.details["examples"][0]


# The run's own files ----------------------------------------------------------------------------------------------


def test_a_task_is_restored_from_the_files_of_its_run(features_run: Run, images_run: Run) -> None:
    for run, features, regions in ((features_run, WIDTH, 9), (images_run, 0, 0)):
        sizes = json.loads((run.folder / "vocabulary" / KIND_FILE).read_text())
        assert sizes == {"features": features, "regions": regions}
        again = Caption.from_files(run.experiment, run.task.files())
        assert again.files() == run.task.files()


SIZES = [f'{{"features": {x}, "regions": {y}}}' for x, y in (("1e999", 1), (-5, 1), (5, 1.5), ("true", 1), (5, 10**9))]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"features": 5}', '{"features": "x", "regions": 1}', "[" * 9999, *SIZES]
)
def test_a_damaged_file_is_an_error(features_run: Run, content: str, tmp_path: Path) -> None:
    copy = shutil.copytree(features_run.folder, tmp_path / "copy")
    (copy / "vocabulary" / KIND_FILE).write_text(content)
    recommitted(copy)
    with pytest.raises(RunError) as caught:
        seqloom.load(copy).predict([photo(features_run, "grids/0.npy")])
    message = "not the sizes of images, so it is damaged. Restore the file from a copy."
    assert str(caught.value) == f"{copy / 'vocabulary' / KIND_FILE}: {message}"


def test_a_copy_of_the_run_needs_no_training_images(images_run: Run, tmp_path: Path) -> None:
    copy = shutil.copytree(images_run.folder, tmp_path / "copy")
    Image.new("RGB", (12, 9), COLOURS["red"]).save(tmp_path / "new.png")
    path = str(tmp_path / "new.png")
    assert seqloom.load(copy).predict([path]) == images_run.predict([path])
