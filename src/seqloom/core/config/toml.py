"""An experiment as a file that a person can read and edit."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from seqloom.core.config.applicability import useless
from seqloom.core.config.migration import older_names
from seqloom.core.config.section import NONE, Section, section_of
from seqloom.core.problem import ConfigError, DataError
from seqloom.core.safe_open import NotRegular, open_regular

LARGEST = 1 << 20  # bytes: a config is small, and may come from a stranger


def read_values(path: Path) -> dict[str, object]:
    """The nested values of a TOML file."""
    text = text_of(path)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise DataError(
            path, "not TOML of a config: nested too deeply", "Name another file", code="toml-nesting"
        ) from None
    except tomllib.TOMLDecodeError as wrong:
        place = re.search(r"at line (\d+)", str(wrong))
        line = int(place[1]) if place else len(text.rstrip().splitlines())  # the other place is the end of the document
        what = re.sub(r" \(at .*\)", "", str(wrong)).rstrip(".")
        raise DataError(f"{path}:{max(line, 1)}", f"not TOML: {what}", "Correct the line", code="toml-syntax") from None


def text_of(path: Path) -> str:
    """What stands in a config, whoever wrote it."""
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            message = f"more than {LARGEST:,} bytes, too large for a config"
            raise DataError(path, message, "Name another file", code="config-size")
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise DataError(path, "no such file", "Write one with `seqloom init TASK FILE`", code="no-config") from None
    except NotRegular:
        what = "is a directory" if path.is_dir() else "not a plain file"
        raise DataError(path, what, "Name a file, such as experiment.toml", code="config-not-a-file") from None
    except OSError as wrong:
        why = (wrong.strerror or "").lower()
        raise DataError(path, f"can't be read ({why})", "Name another file", code="config-unreadable") from None
    except UnicodeDecodeError as wrong:
        message = f"byte {wrong.start} is not UTF-8"
        raise DataError(path, message, "Save it as UTF-8", code="config-encoding") from None


NAME = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
PATH = rf"{NAME}(?:\s*\.\s*{NAME})*"
HEADER = re.compile(rf"\s*\[\[?\s*({PATH})\s*\]")
ASSIGNED = re.compile(rf"\s*({PATH})\s*=(.*)")
QUOTES = re.compile(r"\"\"\"|'''")


def line_of(text: str, dotted: str) -> int | None:
    """The line of a TOML file on which a key or a section stands.

    >>> line_of("task = 'tag'\\n[train]\\nlr = 1", "train.lr")
    3
    """
    wanted, section, inside = dotted.split("."), list[str](), False
    for number, line in enumerate(text.splitlines(), 1):
        if inside:  # a text of several lines
            inside = len(QUOTES.findall(line)) % 2 == 0
            continue
        inside = len(QUOTES.findall(line)) % 2 == 1
        if header := HEADER.match(line):
            path, after = section, _ = names_of(header[1]), ""
        elif assigned := ASSIGNED.match(line):
            path, after = [*section, *names_of(assigned[1])], assigned[2]
        else:
            continue
        if path[: len(wanted)] == wanted or (
            path == wanted[:-1] and re.search(rf"\b{re.escape(wanted[-1])}\s*=", after)
        ):
            return number
    return None


def names_of(path: str) -> list[str]:
    """The names in a dotted key of TOML."""
    return [name.strip("\"'") for name in re.findall(NAME, path)]


def placed(wrong: ConfigError, path: Path) -> ConfigError:
    """The same error with the file and line of the key that it names."""
    key, text = wrong.template.key, text_of(path)
    line = next(filter(None, (line_of(text, name) for name in [key, *older_names(key)])), None) if key else None
    return ConfigError.of(replace(wrong.template, location=f"{path}:{line}" if line else str(path)))


def written(experiment: Section, *, comments: bool = False) -> str:
    """The resolved experiment as TOML: the keys that do something; with `comments`, what each means, and the others."""
    sections = {name: section for name, section in experiment if isinstance(section, Section)}
    plain = {name: item for name, item in experiment if name not in sections and item is not None}
    lines = [f"{name} = {value(item)}" for name, item in plain.items()]
    unsaid = experiment.filled(experiment.model_dump(exclude_none=True))
    idle = {each.key for each in useless(experiment)}
    for name, section in sections.items():
        acting = [key for key in type(section).model_fields if f"{name}.{key}" not in idle]
        lines += ["", f"[{name}]", *section_lines(section, acting, section_of(unsaid, name), comments)]
    return "\n".join(lines) + "\n"


def section_lines(
    section: Section, acting: Sequence[str], unsaid: Mapping[str, object], comments: bool
) -> Iterator[str]:
    """The keys of one section, `arch` first; a None is said where the default, if nobody says, is something else."""
    fields = type(section).model_fields
    for name in sorted(fields, key=lambda name: name != "arch"):
        current = getattr(section, name)
        if comments and fields[name].description:
            yield f"# {fields[name].description}"
        if name in acting and current is not None:
            yield f"{name} = {value(current)}"
        elif name in acting and unsaid.get(name) is not None:
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
