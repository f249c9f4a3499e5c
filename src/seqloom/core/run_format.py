"""The folder of a run: its files, and the check that they are complete and unchanged. Nothing here needs torch.

manifest.json            format version, task, versions, user-defined parts, SHA-256 of each file that predict needs;
                         its rename is the commit
experiment.toml          the resolved config
vocabulary/              tokenizer, labels, characters: as the task needs
model-HASH.safetensors   the best weights so far
checkpoints/             the last k, each complete or absent
local.json               where the data was, with content hashes
metrics.jsonl            one line per event
scores.json              the final scores
report.html              curves, samples, examples, cost
tensorboard/             the curves for TensorBoard, on request

A folder may come from a stranger: nothing in it is used before it is checked, and no link in it is followed.
"""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Predicate
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from seqloom.core import atomic_io
from seqloom.core.problem import RunError
from seqloom.core.safe_open import NotRegular, TooLarge, open_regular, read_bytes, system_reason

FORMAT = 2  # 1: `last` of a bidirectional model was the last step of both directions (config/migration.py)
MAX_BYTES = 64 << 20  # of a JSON or TOML file
MAX_PARTS, MAX_NAME, MAX_PARAMETERS = 100, 255, 10**15

MANIFEST, EXPERIMENT, LOCAL = "manifest.json", "experiment.toml", "local.json"
METRICS, SCORES, REPORT, ATTENTION = "metrics.jsonl", "scores.json", "report.html", "attention.svg"
VOCABULARY, CHECKPOINTS, TENSORBOARD = FOLDERS = "vocabulary", "checkpoints", "tensorboard"

RESTORE = "Restore the folder from a copy"


# The manifest ---------------------------------------------------------------------------------------------------------


def is_inside(name: str) -> bool:
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name and bool(path.parts)


def are_unique(parts: tuple["RecordedPart", ...]) -> bool:
    return len({(part.kind, part.name) for part in parts}) == len(parts)


Name = Annotated[str, Field(pattern="^[a-z][a-z0-9_-]{0,59}$")]  # of a kind of part, or a task that may be unknown
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
ShortText = Annotated[str, Field(min_length=1, max_length=MAX_NAME), Predicate(str.isprintable)]
Count = Annotated[int, Field(strict=True, ge=0, le=MAX_PARAMETERS)]


@dataclass(frozen=True)
class RecordedPart:
    """A user-defined part of a run, defined in a file, or in a module without one, such as a notebook."""

    kind: Name
    name: ShortText
    file: Annotated[ShortText, Predicate(lambda name: Path(name).name == name)] = ""  # without its folder
    sha256: Sha256 = ""
    module: ShortText = ""

    def as_json(self) -> dict[str, str]:
        """Kind and name, then either file and sha256 or module."""
        return {name: value for name, value in asdict(self).items() if value}


def require_source(part: object) -> object:
    """Check that a part has, besides kind and name, either a file and its hash or a module."""
    if not isinstance(part, Mapping) or set(part) - {"kind", "name"} not in ({"file", "sha256"}, {"module"}):
        raise ValueError("has neither a file with its hash nor a module")
    return part


Parts = Annotated[
    tuple[Annotated[RecordedPart, BeforeValidator(require_source)], ...],
    Field(max_length=MAX_PARTS),
    Predicate(are_unique),
]


@dataclass(frozen=True)
class Manifest:
    """The task, origin and size of a run, and the hashes of the files that it needs to predict."""

    task: Name
    created: Annotated[str, Predicate(datetime.fromisoformat)]
    parameters: Count = 0
    format: Count = FORMAT
    versions: dict[str, Annotated[str, Field(max_length=MAX_NAME)]] = field(default_factory=dict)
    files: dict[Annotated[ShortText, Predicate(is_inside)], Sha256] = field(default_factory=dict)
    parts: Parts = ()  # the key is left out of the file if there are none

    @property
    def model(self) -> str | None:
        """The file of the best weights, once there are any."""
        return next((name for name in self.files if name.startswith("model-")), None)

    def with_files(self, files: Mapping[str, str], parameters: int) -> "Manifest":
        return replace(self, files=dict(files), parameters=parameters)


@cache
def type_adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def read_parts(value: object) -> tuple[RecordedPart, ...] | None:
    """The user-defined parts that a manifest lists; None if the list is damaged."""
    try:
        parts: tuple[RecordedPart, ...] = type_adapter(Parts).validate_python(value)
        return parts
    except ValidationError:
        return None


def package_versions() -> dict[str, str]:
    """The versions of Python and of the packages on which a run's results depend."""
    versions = {"python": platform.python_version()}
    for name in ("seqloom", "torch", "tokenizers", "safetensors", "numpy"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "unknown"
    return versions


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Commit the files that the manifest lists; until this returns, the old manifest is valid."""
    content = asdict(manifest) | {"parts": [part.as_json() for part in manifest.parts]}
    if not manifest.parts:
        del content["parts"]
    atomic_io.write(folder / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run; an error for a folder that is not a run, or is of a newer format."""
    path = folder / MANIFEST
    if not folder.exists():
        raise RunError("no such folder", "`seqloom runs` lists the runs here", location=folder)
    if not path.is_file():
        raise RunError(f"not a run, since it has no {MANIFEST}", "`seqloom runs` lists the runs here", location=folder)
    raw = read_json(path)
    format_version = raw.get("format")
    if type(format_version) is not int or not 0 < format_version <= MAX_PARAMETERS:
        raise RunError("no format version, so it is not a run's", "Check that it is the right folder", location=path)
    if format_version > FORMAT:
        versions = raw.get("versions")
        made_by = versions.get("seqloom") if isinstance(versions, dict) else None
        writer = made_by if isinstance(made_by, str) and len(made_by) <= MAX_NAME else "unknown"
        message = f"made by a newer seqloom ({writer}, format {format_version}; this one reads format {FORMAT})"
        raise RunError(message, "Upgrade with `pip install -U seqloom`", location=folder)
    required = ("task", "created", "parameters", "versions", "files")
    try:
        manifest: Manifest = type_adapter(Manifest).validate_python(dict.fromkeys(required) | raw)
        return manifest
    except ValidationError as error:
        key = str(error.errors(include_url=False, include_input=False)[0]["loc"][0])
        message = f"its list of {key} is damaged" if key in ("files", "parts") else f"its {key} is missing or damaged"
        raise RunError(message, RESTORE, location=path) from None


# The folder -----------------------------------------------------------------------------------------------------------


def verify(folder: Path) -> Manifest:
    """The manifest of a run, after a check that every file in it exists and is unchanged."""
    manifest = read_manifest(folder)
    for name in (MANIFEST, LOCAL, METRICS, SCORES, REPORT, ATTENTION, *FOLDERS):
        path = folder / name
        refuse_link(path, is_link=path.is_symlink())
        if path.exists() and not (path.is_dir() if name in FOLDERS else path.is_file()):
            kind = "folder" if name in FOLDERS else "plain file"
            raise RunError(f"not a {kind}, so it is not a run's", "Remove it, or restore it from a copy", location=path)
    for name, expected in manifest.files.items():
        path = folder / name
        outside = path.exists() and folder.resolve() not in path.resolve().parents
        refuse_link(path, is_link=path.is_symlink() or outside)
        try:
            actual = sha256(path)
        except (FileNotFoundError, NotADirectoryError):
            raise RunError(f"missing, though {MANIFEST} lists it", RESTORE, location=path) from None
        except OSError as error:
            raise cannot_read(path, error) from None
        if actual != expected:
            message = f"damaged: its SHA-256 is not the one in {MANIFEST}"
            raise RunError(message, "Restore the file from a copy", location=path)
    return manifest


def refuse_link(path: Path, *, is_link: bool) -> None:
    if is_link:
        raise RunError("a link out of the folder", "Copy the file itself into the run", location=path)


def sha256(path: Path) -> str:
    """The SHA-256 of a plain file, which need not fit into memory."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_text(path: Path) -> str:
    """A text file of a run, of a limited size."""
    try:
        return read_bytes(path, MAX_BYTES).decode()
    except UnicodeDecodeError:
        raise RunError("not UTF-8, so it is damaged", "Restore the file from a copy", location=path) from None
    except OSError as error:
        raise cannot_read(path, error) from None


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a run."""
    text = read_text(path)
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):  # ValueError includes a number of thousands of digits
        raise RunError("not JSON, so it is damaged", "Restore the file from a copy", location=path) from None
    if not isinstance(raw, dict):
        raise RunError("not a JSON object, so it is damaged", "Restore the file from a copy", location=path)
    return raw


def cannot_read(path: Path, error: OSError) -> RunError:
    if isinstance(error, NotRegular):
        return RunError("not a plain file, so it is not a run's", "Restore it from a copy", location=path)
    if isinstance(error, TooLarge):
        return RunError(f"{error.strerror}, too large to be a run's", "Restore it from a copy", location=path)
    advice = "Change its permissions, or restore the file from a copy"
    return RunError(f"can't be read ({system_reason(error)})", advice, location=path)
