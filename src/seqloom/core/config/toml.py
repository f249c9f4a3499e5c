"""Read and write experiments as TOML."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from seqloom.core.config.applicability import unused_keys
from seqloom.core.config.migration import older_names
from seqloom.core.config.section import NONE, Section, section_of
from seqloom.core.problem import ConfigError, DataError, rename_keys
from seqloom.core.safe_open import NotRegular, TooLarge, read_bytes, system_reason

MAX_BYTES = 1 << 20


def read_values(path: Path) -> dict[str, object]:
    """The nested values of a TOML file."""
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise DataError(
            path, "not a config: its TOML is nested too deeply", "Name another file", code="toml-nesting"
        ) from None
    except tomllib.TOMLDecodeError as error:
        number = re.search(r"at line (\d+)", str(error))
        line = int(number[1]) if number else len(text.rstrip().splitlines())  # "at end of document"
        reason = re.sub(r" \(at .*\)", "", str(error)).rstrip(".")
        raise DataError(
            f"{path}:{max(line, 1)}", f"not TOML: {reason}", "Correct the line", code="toml-syntax"
        ) from None


def read_text(path: Path) -> str:
    """The text of a config file. The file may be untrusted, so its size is limited."""
    try:
        return read_bytes(path, MAX_BYTES).decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise DataError(path, "no such file", "Write one with `seqloom init TASK FILE`", code="no-config") from None
    except NotRegular:
        message = "is a directory" if path.is_dir() else "not a plain file"
        raise DataError(path, message, "Name a file, such as experiment.toml", code="config-not-a-file") from None
    except TooLarge as error:
        message = f"{error.strerror}, too large for a config"
        raise DataError(path, message, "Name another file", code="config-size") from None
    except OSError as error:
        message = f"can't be read ({system_reason(error)})"
        raise DataError(path, message, "Name another file", code="config-unreadable") from None
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8"
        raise DataError(path, message, "Save it as UTF-8", code="config-encoding") from None


NAME = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
PATH = rf"{NAME}(?:\s*\.\s*{NAME})*"
HEADER = re.compile(rf"\s*\[\[?\s*({PATH})\s*\]")
ASSIGNMENT = re.compile(rf"\s*({PATH})\s*=(.*)")
QUOTES = re.compile(r"\"\"\"|'''")


def line_of(text: str, dotted: str) -> int | None:
    """The line of a key or a section in the text of a TOML file.

    >>> line_of("task = 'tag'\\n[train]\\nlr = 1", "train.lr")
    3
    """
    target, section, in_string = dotted.split("."), list[str](), False
    for number, line in enumerate(text.splitlines(), 1):
        is_odd = len(QUOTES.findall(line)) % 2 == 1
        if in_string:  # a string of several lines
            in_string = not is_odd
            continue
        in_string = is_odd
        if header := HEADER.match(line):
            path, value = section, _ = split_key(header[1]), ""
        elif assignment := ASSIGNMENT.match(line):
            path, value = [*section, *split_key(assignment[1])], assignment[2]
        else:
            continue
        if path[: len(target)] == target or (
            path == target[:-1] and re.search(rf"\b{re.escape(target[-1])}\s*=", value)
        ):
            return number
    return None


def split_key(path: str) -> list[str]:
    """The names in a dotted key of TOML, without quotes."""
    return [name.strip("\"'") for name in re.findall(NAME, path)]


def with_location(error: ConfigError, path: Path) -> ConfigError:
    """The error with the file and line of its key, and with the names that keys have in the file."""
    text, problem = read_text(path), error.template

    def name_in_file(key: str) -> str:
        return next((name for name in (key, *older_names(key)) if line_of(text, name)), key)

    line = line_of(text, name_in_file(problem.key)) if problem.key else None
    message, advice = rename_keys(problem.message, name_in_file), rename_keys(problem.advice, name_in_file)
    location = f"{path}:{line}" if line else str(path)
    return ConfigError.of(replace(problem, message=message, advice=advice, location=location))


def to_toml(experiment: Section, *, comments: bool = False) -> str:
    """A resolved experiment as TOML: the keys that have a use, or with `comments` all keys and their descriptions."""
    sections = {name: section for name, section in experiment if isinstance(section, Section)}
    plain = {name: item for name, item in experiment if name not in sections and item is not None}
    lines = [f"{name} = {toml_value(item)}" for name, item in plain.items()]
    defaults = experiment.fill(experiment.model_dump(exclude_none=True))
    unused = {key.key for key in unused_keys(experiment)}
    for name, section in sections.items():
        used = [key for key in type(section).model_fields if f"{name}.{key}" not in unused]
        lines += ["", f"[{name}]", *section_lines(section, used, section_of(defaults, name), comments)]
    return "\n".join(lines) + "\n"


def section_lines(
    section: Section, used: Sequence[str], defaults: Mapping[str, object], comments: bool
) -> Iterator[str]:
    """The lines of one section, `arch` first. None is written only if the default is another value."""
    fields = type(section).model_fields
    for name in sorted(fields, key=lambda name: name != "arch"):
        current = getattr(section, name)
        if comments and fields[name].description:
            yield f"# {fields[name].description}"
        if name in used and current is not None:
            yield f"{name} = {toml_value(current)}"
        elif name in used and defaults.get(name) is not None:
            yield f"{name} = {toml_value(NONE)}"
        elif comments:
            yield f"# {name} ="


def toml_value(item: object) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return repr(item)
    if isinstance(item, tuple):
        return "[" + ", ".join(map(toml_value, item)) + "]"
    # JSON's escapes are valid in TOML, which escapes DEL too.
    return json.dumps(str(item), ensure_ascii=False).replace("\x7f", "\\u007f")
