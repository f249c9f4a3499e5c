"""A run folder from its first moment: whole as soon as it is there."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from safetensors.torch import save
from torch import nn

from seqloom.runs.places import refuse_taken
from seqloom.spec import durable
from seqloom.spec.config.toml import written
from seqloom.spec.folder import EXPERIMENT, LOCAL, VOCABULARY, Manifest, Part, read_manifest, sha256, versions
from seqloom.spec.folder import write_manifest as commit
from seqloom.tasks.experiment import Experiment


def create(
    folder: Path,
    experiment: Experiment,
    vocabulary: Mapping[str, str],
    local: Mapping[str, object],
    parts: tuple[Part, ...] = (),
) -> None:
    """A run without weights yet: config, vocabulary, and where the data lay."""
    refuse_taken(folder)

    def fill(making: Path) -> None:
        (making / VOCABULARY).mkdir()
        durable.write(making / EXPERIMENT, written(experiment))
        durable.write(making / LOCAL, json.dumps(local, indent=1, ensure_ascii=False) + "\n")
        names = [EXPERIMENT]
        for name, content in vocabulary.items():
            durable.write(making / VOCABULARY / name, content)
            names.append(f"{VOCABULARY}/{name}")
        files = {name: sha256(making / name) for name in names}
        created = datetime.now(UTC).isoformat(timespec="seconds")
        commit(making, Manifest(experiment.task, created, versions=versions(), files=files, parts=parts))

    durable.folder(folder, fill)


def keep_best(folder: Path, model: nn.Module) -> None:
    """The best weights so far: written beside the old ones, committed by the manifest, then the old ones go."""
    manifest = read_manifest(folder)
    content = save({name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()})
    making = folder / f"{durable.MARK}model.safetensors"
    with durable.sentence(making):
        durable.write(making, content)
        code = sha256(making)
        name = f"model-{code[:12]}.safetensors"
        durable.rename(making, folder / name)
    files = {each: known for each, known in manifest.files.items() if not each.startswith("model-")}
    size = sum(weight.numel() for weight in model.parameters())
    commit(folder, manifest.having({**files, name: code}, size))
    for old in folder.glob("model-*.safetensors"):
        if old.name != name:
            durable.remove(old)
