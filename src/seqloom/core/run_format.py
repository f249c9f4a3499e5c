"""A run is a folder: what lies where, and whether it is whole. Nothing here needs torch.

manifest.json            format version, task, versions, user-defined parts, SHA-256 of each file that predict needs;
                         its rename commits
experiment.toml          the resolved config
vocabulary/              tokenizer, labels, characters: as the task needs
model-HASH.safetensors   the best weights so far
checkpoints/             the last k, each whole or absent
local.json               where the data lay, with content hashes
metrics.jsonl            one line an event
scores.json              the final figures
report.html              what happened
tensorboard/             the same for TensorBoard, if asked for
"""

import hashlib
import json
import platform
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeGuard

from seqloom.core import atomic_io
from seqloom.core.problem import RunError
from seqloom.core.safe_open import NotRegular, open_regular

FORMAT = 1
LARGEST = 64 << 20  # bytes: folders come from strangers too
MOST_PARAMETERS = 10**15
LONGEST_NAME = 255  # characters
MOST_PARTS = 100

MANIFEST, EXPERIMENT, LOCAL = "manifest.json", "experiment.toml", "local.json"
METRICS, SCORES, REPORT, ATTENTION = "metrics.jsonl", "scores.json", "report.html", "attention.svg"
VOCABULARY, CHECKPOINTS, TENSORBOARD = FOLDERS = "vocabulary", "checkpoints", "tensorboard"


@dataclass(frozen=True)
class Part:
    """A user-defined part that a run was made with: of a file, or of a module that has none, such as a notebook's."""

    kind: str
    name: str
    file: str = ""  # without its folder
    sha256: str = ""
    module: str = ""

    def as_json(self) -> dict[str, str]:
        """Kind and name, then either file and sha256 or module."""
        return {name: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True)
class Manifest:
    """What a run is, and the fingerprints of the files that it can't do without."""

    task: str
    created: str
    parameters: int = 0
    format: int = FORMAT
    versions: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)  # path in the folder -> SHA-256
    parts: tuple[Part, ...] = ()  # user-defined ones; the key is left out where there are none

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
    """The fingerprint of a plain file, a piece at a time."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """The commit: before it the run is what it was, after it what the manifest says."""
    content = asdict(manifest) | {"parts": [part.as_json() for part in manifest.parts]}
    if not manifest.parts:
        del content["parts"]
    atomic_io.write(folder / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """What this folder is; a sentence if it is no run, or one that this version can't read."""
    path = folder / MANIFEST
    if not folder.exists():
        raise RunError("no such folder", "`seqloom runs` lists the runs here", location=folder)
    if not path.is_file():
        raise RunError(f"not a run, since it has no {MANIFEST}", "`seqloom runs` lists the runs here", location=folder)
    raw = read_json(path)
    number = raw.get("format")
    if not is_count(number) or number == 0:
        raise RunError("no format version, so it is not a run's", "Is it the right folder?", location=path)
    if number > FORMAT:
        made_by = raw["versions"].get("seqloom") if are_texts(raw.get("versions")) else None
        raise RunError(
            f"made by a newer seqloom ({made_by or 'unknown'}, format {number}; this one reads format {FORMAT})",
            "Upgrade with `pip install -U seqloom`",
            location=folder,
        )
    if not are_files(raw.get("files")):
        raise RunError("its list of files is damaged", "Restore the folder from a copy", location=path)
    parts = raw.get("parts", [])
    if not are_parts(parts):
        raise RunError("its list of parts is damaged", "Restore the folder from a copy", location=path)
    for name, is_right in RIGHT.items():
        if not is_right(raw.get(name)):
            raise RunError(f"its {name} is missing or damaged", "Restore the folder from a copy", location=path)
    return Manifest(**{name: raw[name] for name in ("format", "files", *RIGHT)}, parts=parts_of(parts))


def is_count(value: object) -> TypeGuard[int]:
    """A whole number of a size that something may have; true is none."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_PARAMETERS


def is_time(value: object) -> bool:
    """A date, or a date and a time of day."""
    try:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def are_texts(value: object) -> bool:
    """Names, and a short text for each."""
    return isinstance(value, dict) and all(
        isinstance(each, str) and len(each) <= LONGEST_NAME for each in value.values()
    )


def are_files(value: object) -> bool:
    """Paths that stay within the folder, and a SHA-256 for each."""
    return isinstance(value, dict) and all(is_inside(name) and is_sha256(code) for name, code in value.items())


def is_sha256(value: object) -> bool:
    """In hexadecimal digits."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def are_parts(value: object) -> TypeGuard[list[dict[str, str]]]:
    """User-defined parts, each once."""
    if not isinstance(value, list) or len(value) > MOST_PARTS or not all(map(is_part, value)):
        return False
    return len({(each["kind"], each["name"]) for each in value}) == len(value)


def is_part(value: object) -> bool:
    """Kind and name in one short line each, with the name of a file and its SHA-256, or with a module."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        return False
    if not all(text.isprintable() and 0 < len(text) <= LONGEST_NAME for text in value.values()):
        return False
    if set(value) == {"kind", "name", "file", "sha256"}:
        is_right = Path(value["file"]).name == value["file"] and is_sha256(value["sha256"])
    else:
        is_right = set(value) == {"kind", "name", "module"}
    return is_right and is_name(value["kind"])


def parts_of(value: list[dict[str, str]]) -> tuple[Part, ...]:
    """The parts of a manifest, of which `are_parts` holds."""
    return tuple(Part(**each) for each in value)


def is_name(value: object) -> bool:
    """A short word, as tasks have: whether there is such a task, is for who opens the run to know."""
    return isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9_-]{0,59}", value) is not None


RIGHT: dict[str, Callable[[object], bool]] = {
    "task": is_name,
    "created": is_time,
    "parameters": is_count,
    "versions": are_texts,
}


def is_inside(name: str) -> bool:
    """Whether a path from a manifest stays within the folder, and is one that a file can have."""
    path = Path(name)
    stays = not path.is_absolute() and ".." not in path.parts and "\\" not in name and bool(path.parts)
    return stays and name.isprintable() and len(name) <= LONGEST_NAME


def check(folder: Path) -> Manifest:
    """The manifest, once every file that it lists is there and is what it was; needs no torch."""
    manifest = read_manifest(folder)
    for name in (MANIFEST, LOCAL, METRICS, SCORES, REPORT, ATTENTION, *FOLDERS):
        path = folder / name
        if path.is_symlink():
            raise RunError("a link out of the folder", "Copy the file itself into the run", location=path)
        if path.exists() and not (path.is_dir() if name in FOLDERS else path.is_file()):
            what = "folder" if name in FOLDERS else "plain file"
            raise RunError(f"not a {what}, so it is not a run's", "Remove it, or restore it from a copy", location=path)
    for name, expected in manifest.files.items():
        path = folder / name
        if path.is_symlink() or (path.exists() and folder.resolve() not in path.resolve().parents):
            raise RunError("a link out of the folder", "Copy the file itself into the run", location=path)
        if fingerprint(path) != expected:
            raise RunError(
                f"damaged, its SHA-256 is not that of {MANIFEST}", "Restore the file from a copy", location=path
            )
    return manifest


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file that a manifest lists, or a sentence."""
    try:
        return sha256(path)
    except (FileNotFoundError, NotADirectoryError):
        raise RunError(
            f"missing, though {MANIFEST} lists it", "Restore the folder from a copy", location=path
        ) from None
    except OSError as wrong:
        raise unreadable(path, wrong) from None


def read_text(path: Path) -> str:
    """A file of a run that may have been cut off, changed, or made by a stranger."""
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise RunError(
                f"more than {LARGEST:,} bytes, too large to be a run's", "Restore it from a copy", location=path
            )
        return content.decode()
    except UnicodeDecodeError:
        raise RunError("not UTF-8, so it is damaged", "Restore the file from a copy", location=path) from None
    except OSError as wrong:
        raise unreadable(path, wrong) from None


def unreadable(path: Path, wrong: OSError) -> RunError:
    """The sentence for a file that can't be opened."""
    if isinstance(wrong, NotRegular):
        return RunError("not a plain file, so it is not a run's", "Restore it from a copy", location=path)
    why = (wrong.strerror or type(wrong).__name__).lower()
    return RunError(f"can't be read ({why})", "Allow it, or restore the file from a copy", location=path)


def read_json(path: Path) -> dict[str, Any]:
    """An object, from such a file."""
    try:
        raw = json.loads(read_text(path))
    except RunError:
        raise
    except (ValueError, RecursionError):  # not JSON, a number of thousands of digits
        raise RunError("not JSON, so it is damaged", "Restore the file from a copy", location=path) from None
    if not isinstance(raw, dict):
        raise RunError("not a JSON object, so it is damaged", "Restore the file from a copy", location=path)
    return raw
