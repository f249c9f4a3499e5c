"""An experiment as a file that a person can read and edit."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seqloom.spec.config.defaults import filled
from seqloom.spec.config.experiment import Experiment
from seqloom.spec.config.part import NONE, Part
from seqloom.spec.errors import ConfigError, DataError

LARGEST = 1 << 20  # bytes: a config is small, and may come from a stranger


def read_values(path: Path) -> dict[str, Any]:
    """The nested values of a TOML file."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise DataError(path, f"{size:,} bytes, and a config has at most {LARGEST:,}", "Name another file")
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DataError(path, "no such file", "Write one with `seqloom init TASK FILE`") from None
    except IsADirectoryError:
        raise DataError(path, "is a directory", "Name the file in it, such as experiment.toml") from None
    except OSError as wrong:
        raise DataError(path, f"can't be read ({(wrong.strerror or '').lower()})", "Name another file") from None
    except RecursionError:
        raise DataError(path, "not TOML of a config: nested too deeply", "Name another file") from None
    except UnicodeDecodeError as wrong:
        raise DataError(path, f"byte {wrong.start} is not UTF-8", "Save it as UTF-8") from None
    except tomllib.TOMLDecodeError as wrong:
        place = re.search(r"at line (\d+)", str(wrong))
        what = re.sub(r" \(at .*\)", "", str(wrong)).rstrip(".")
        raise DataError(f"{path}:{place[1]}" if place else path, f"not TOML: {what}", "Mend the line") from None


def line_of(text: str, dotted: str) -> int | None:
    """The line of a TOML file on which a key stands.

    >>> line_of("task = 'tag'\\n[train]\\nlr = 1", "train.lr")
    3
    """
    part, _, name = dotted.rpartition(".")
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[([^\]]+)\]", line):
            section = header[1].strip()
        elif section in ("", part) and re.match(rf"\s*{re.escape(name if section == part else dotted)}\s*=", line):
            return number
    return None


def placed(wrong: ConfigError, path: Path) -> ConfigError:
    """The same error with the file and line of the key that it names."""
    text = path.read_text(encoding="utf-8-sig")
    key = re.search(r"\b(?:(?:data|model|train|decode)\.\w+|task|seed)\b", str(wrong))
    line = line_of(text, key[0]) if key else None
    return ConfigError(f"{path}:{line}: {wrong}" if line else f"{path}: {wrong}")


def written(experiment: Experiment, *, comments: bool = False) -> str:
    """The resolved experiment as TOML; with `comments`, what each key means, and those that are none."""
    lines = [f"{name} = {value(getattr(experiment, name))}" for name in ("task", "seed")]
    unsaid = filled(experiment.model_dump(exclude_none=True))
    for name in ("data", "model", "train", "decode"):
        part = getattr(experiment, name)
        if part is not None:
            lines += ["", f"[{name}]", *part_lines(part, unsaid[name], comments)]
    return "\n".join(lines) + "\n"


def part_lines(part: Part, unsaid: Mapping[str, Any], comments: bool) -> Iterator[str]:
    """The keys of one part, `arch` first; a None is said where the default, if nobody says, is something else."""
    fields = type(part).model_fields
    for name in sorted(fields, key=lambda name: name != "arch"):
        current = getattr(part, name)
        if comments and fields[name].description:
            yield f"# {fields[name].description}"
        if current is not None:
            yield f"{name} = {value(current)}"
        elif unsaid.get(name) is not None:
            yield f"{name} = {value(NONE)}"
        elif comments:
            yield f"# {name} ="


def value(item: object) -> str:
    """One value as TOML writes it."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return repr(item)
    if isinstance(item, tuple):
        return "[" + ", ".join(value(each) for each in item) + "]"
    # JSON's escapes are TOML's too, but for DEL, which TOML wants escaped.
    return json.dumps(str(item), ensure_ascii=False).replace("\x7f", "\\u007f")


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values, later ones over earlier ones, key by key.

    >>> merged({"train": {"lr": 1, "batch": 2}}, {"train": {"lr": 3}})
    {'train': {'lr': 3, 'batch': 2}}
    """
    whole: dict[str, Any] = {}
    for layer in layers:
        for key, item in layer.items():
            inside = whole.get(key)
            whole[key] = merged(inside, item) if isinstance(inside, dict) and isinstance(item, Mapping) else item
    return whole
