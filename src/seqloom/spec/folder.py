"""A run is a folder: what lies where, and whether it is whole. Nothing here needs torch.

manifest.json            format version, task, versions, SHA-256 of each file that predict needs; its rename commits
experiment.toml          the resolved config
vocabulary/              tokeniser, labels, characters: as the task needs
model-HASH.safetensors   the best weights so far
checkpoints/             the last k, each whole or absent
local.json               where the data lay, with content hashes
metrics.jsonl            one line an event
scores.json              the final figures
report.html              what happened
"""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from seqloom.spec import durable
from seqloom.spec.errors import RunError

FORMAT = 1
LARGEST = 64 << 20  # bytes: folders come from strangers too

MANIFEST, EXPERIMENT, LOCAL = "manifest.json", "experiment.toml", "local.json"
METRICS, SCORES, REPORT = "metrics.jsonl", "scores.json", "report.html"
VOCABULARY, CHECKPOINTS = "vocabulary", "checkpoints"


KINDS = {"task": str, "created": str, "parameters": int, "format": int, "versions": dict, "files": dict}


@dataclass(frozen=True)
class Manifest:
    """What a run is, and the fingerprints of the files that it can't do without."""

    task: str
    created: str
    parameters: int = 0
    format: int = FORMAT
    versions: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)  # path in the folder -> SHA-256

    @property
    def model(self) -> str | None:
        """The file of the best weights, once there are any."""
        return next((name for name in self.files if name.startswith("model-")), None)

    def having(self, files: Mapping[str, str], parameters: int) -> "Manifest":
        """The same run with other files."""
        return replace(self, files=dict(files), parameters=parameters)


def versions() -> dict[str, str]:
    """Of what makes a run."""
    found = {"python": platform.python_version()}
    for name in ("seqloom", "torch", "tokenizers", "safetensors", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def sha256(path: Path) -> str:
    """The fingerprint of a file, a piece at a time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """The commit: before it the run is what it was, after it what the manifest says."""
    durable.write(folder / MANIFEST, json.dumps(asdict(manifest), indent=1, ensure_ascii=False) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """What this folder is; a sentence if it is no run, or one that this version can't read."""
    path = folder / MANIFEST
    if not folder.exists():
        raise RunError(f"{folder}: no such folder. `seqloom runs` lists the runs here.")
    if not path.is_file():
        raise RunError(f"{folder}: not a run, since it has no {MANIFEST}. `seqloom runs` lists the runs here.")
    raw = read_json(path)
    made_by = raw.get("versions", {}).get("seqloom", "unknown") if isinstance(raw.get("versions"), dict) else "unknown"
    number = raw.get("format")
    if not isinstance(number, int) or number < 1:
        raise RunError(f"{path}: no format version, so it is not a run's. Is it the right folder?")
    if number > FORMAT:
        raise RunError(
            f"{folder}: made by a newer seqloom ({made_by}, format {number}; this one reads format {FORMAT}). "
            "Upgrade with `pip install -U seqloom`."
        )
    files = raw.get("files")
    if not isinstance(files, dict) or not all(
        is_inside(name) and isinstance(code, str) for name, code in files.items()
    ):
        raise RunError(f"{path}: its list of files is damaged. Restore the folder from a copy.")
    known = {name: raw[name] for name in KINDS if name in raw}
    for name in ("task", "created", *known):
        if not isinstance(known.get(name), KINDS[name]):
            raise RunError(f"{path}: its {name} is missing or damaged. Restore the folder from a copy.")
    return Manifest(**known)


def is_inside(name: str) -> bool:
    """Whether a path from a manifest stays within the folder."""
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name and bool(path.parts)


def check(folder: Path) -> Manifest:
    """The manifest, once every file that it lists is there and is what it was; needs no torch."""
    manifest = read_manifest(folder)
    for name in (MANIFEST, LOCAL, METRICS, SCORES, REPORT, VOCABULARY, CHECKPOINTS):
        if (folder / name).is_symlink():
            raise RunError(f"{folder / name}: a link out of the folder. Copy the file itself into the run.")
    for name, expected in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise RunError(f"{path}: missing, though {MANIFEST} lists it. Restore the folder from a copy.")
        if path.is_symlink() or folder.resolve() not in path.resolve().parents:
            raise RunError(f"{path}: a link out of the folder. Copy the file itself into the run.")
        if sha256(path) != expected:
            raise RunError(f"{path}: damaged, its SHA-256 is not that of {MANIFEST}. Restore the file from a copy.")
    return manifest


def read_text(path: Path) -> str:
    """A file of a run that may have been cut off, changed, or made by a stranger."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise RunError(f"{path}: not a plain file, so it is not a run's. Restore it from a copy.")
        if size > LARGEST:
            raise RunError(f"{path}: {size:,} bytes, too large to be a run's. Restore the file from a copy.")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise RunError(f"{path}: not UTF-8, so it is damaged. Restore the file from a copy.") from None
    except OSError as wrong:
        why = (wrong.strerror or type(wrong).__name__).lower()
        raise RunError(f"{path}: can't be read ({why}). Allow it, or restore the file from a copy.") from None


def read_json(path: Path) -> dict[str, Any]:
    """An object, from such a file."""
    try:
        raw = json.loads(read_text(path))
    except RunError:
        raise
    except (ValueError, RecursionError):  # not JSON, a number of thousands of digits
        raise RunError(f"{path}: not JSON, so it is damaged. Restore the file from a copy.") from None
    if not isinstance(raw, dict):
        raise RunError(f"{path}: not a JSON object, so it is damaged. Restore the file from a copy.")
    return raw
