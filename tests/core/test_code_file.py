"""A code file is run once; one that can't be used gives an error with its line and registers nothing."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from seqloom.core.code_file import MAX_BYTES, load_code
from seqloom.core.names import ACTIVATIONS, SCORES
from seqloom.core.problem import PartError, UserError
from seqloom.core.registry import user_defined_parts
from seqloom.core.wording import MAX_EXCEPTION

pytestmark = pytest.mark.usefixtures("forget_parts")

REGISTERS = """
from seqloom.core.names import ACTIVATIONS
from seqloom.core.part_origin import Origin
class Mine: ...
ACTIVATIONS.add("{name}", Origin.of(Mine))
"""
MINE = REGISTERS.format(name="mine")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load_error(file: str | Path) -> str:
    """The message of the error; the parts and modules of the file are removed."""
    parts, modules, path = user_defined_parts(), dict(sys.modules), list(sys.path)
    with pytest.raises(UserError) as caught:
        load_code(file)
    assert user_defined_parts() == parts
    assert sys.path == path
    assert {name for name in sys.modules.keys() - modules.keys() if Path.cwd() in folders(name)} == set()
    assert sys.modules.get(Path(file).stem) is modules.get(Path(file).stem)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def folders(module: str) -> list[Path]:
    file = getattr(sys.modules[module], "__file__", None)
    return list(Path(file).parents) if file else []


# Loaded --------------------------------------------------------------------------------------------------------------


def test_parts_of_a_file_are_registered_under_its_module_name(folder: Path) -> None:
    load_code(write("my_parts.py", MINE))
    origin = ACTIVATIONS.origin("mine")
    assert origin is not None
    assert (origin.module, origin.file, origin.location) == ("my_parts", "my_parts.py", "my_parts.py:4")
    assert sys.modules["my_parts"].__file__ == str(folder / "my_parts.py")
    assert str(folder) not in sys.path


def test_the_same_file_is_run_once(folder: Path) -> None:
    write("my_parts.py", f"{MINE}from pathlib import Path\nPath('runs.txt').touch(exist_ok=False)\n")
    shutil.copy("my_parts.py", "a_copy.py")
    Path("a_link.py").symlink_to("my_parts.py")
    for name in ("my_parts.py", "./my_parts.py", str(folder / "my_parts.py"), "a_copy.py", "a_link.py"):
        load_code(name)
    assert "mine" in ACTIVATIONS


def test_a_file_may_import_a_neighbor_that_is_loaded_too() -> None:
    write("cells.py", MINE)
    write("tools/__init__.py", "NAME = 'other'")
    load_code(write("my_parts.py", f"import cells, tools\n{REGISTERS.format(name='other')}"))
    load_code("cells.py")
    assert {"mine", "other"} <= set(ACTIVATIONS)


def test_a_file_that_registers_the_parts_of_a_neighbor_is_run_once() -> None:
    write("cells.py", "class Mine: ...")
    text = "import cells\nfrom seqloom.core.names import ACTIVATIONS\nfrom seqloom.core.part_origin import Origin\n"
    write("my_parts.py", f"{text}ACTIVATIONS.add('mine', Origin.of(cells.Mine))\n")
    load_code("my_parts.py")
    load_code("my_parts.py")
    assert ACTIVATIONS.origin("mine").file == "cells.py"  # type: ignore[union-attr]


def test_a_file_may_have_any_name() -> None:
    load_code(write("my-parts.v2", MINE))
    load_code(write("Übung 1.py", REGISTERS.format(name="other")))
    assert ACTIVATIONS.origin("mine").file == "my-parts.v2"  # type: ignore[union-attr]
    assert ACTIVATIONS.origin("other").file == "Übung 1.py"  # type: ignore[union-attr]


def test_a_file_may_begin_with_a_byte_order_mark() -> None:
    write("my_parts.py", f"\ufeff{MINE}")
    load_code("my_parts.py")
    assert "mine" in ACTIVATIONS


# Refused -------------------------------------------------------------------------------------------------------------


def test_a_missing_file_is_refused() -> None:
    assert load_error("nope.py") == "nope.py: there is no such file. Check the name: --code takes a Python file."
    write("file", "")
    assert load_error("file/nope.py").startswith("file/nope.py: there is no such file.")


def test_a_folder_or_a_pipe_is_refused(folder: Path) -> None:
    assert load_error(folder) == f"{folder}: is a folder. Name a Python file."
    os.mkfifo("pipe.py")
    assert load_error("pipe.py") == "pipe.py: is not a plain file. Name a Python file."


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_without_permission_is_refused() -> None:
    write("my_parts.py", MINE).chmod(0)
    assert load_error("my_parts.py") == "my_parts.py: can't be read (permission denied). Change its permissions."


def test_a_file_that_is_too_large_is_refused() -> None:
    with Path("data.csv").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    sentence = "data.csv: more than 16,777,216 bytes, too large for Python code. Name a Python file."
    assert load_error("data.csv") == sentence


def test_a_file_that_is_not_utf8_is_refused() -> None:
    Path("my_parts.py").write_bytes(b"a = 1\nb = '\xff'\n")
    assert load_error("my_parts.py") == "my_parts.py:2: not UTF-8. Save it as UTF-8, or name a Python file."


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("a = 1\ndef f(:\n", ":2", "invalid syntax"),
        ("if True:\na = 1\n", ":2", "expected an indented block after 'if' statement on line 1"),
        (f"a = {'(' * 300}{')' * 300}\n", ":1", "too many nested parentheses"),
        ("return 1\n", ":1", "'return' outside function"),
    ],
)
def test_a_syntax_error_is_refused(text: str, where: str, why: str) -> None:
    write("my_parts.py", text)
    assert load_error("my_parts.py") == f"my_parts.py{where}: does not parse as Python ({why}). Correct it."


def test_a_null_byte_is_refused() -> None:
    write("my_parts.py", "a = 1\0")
    assert re.match(r"my_parts\.py(:\d+)?: does not parse as Python \(.*null bytes\)\.", load_error("my_parts.py"))


def error_of_import(line: int, exception: str, why: str = "") -> str:
    reason = f": {why}" if why else ""
    advice = "Correct it (SEQLOOM_DEBUG=1 shows the traceback)"
    stop = "" if why.endswith("…") else "."
    return f"my_parts.py:{line}: importing it raised {exception}{reason}{stop} {advice}."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 / 0", error_of_import(6, "ZeroDivisionError", "division by zero")),
        ("import not_there_at_all", error_of_import(6, "ModuleNotFoundError", "No module named 'not_there_at_all'")),
        ("def f():\n    raise ValueError('two\\n  lines.')\n\nf()", error_of_import(7, "ValueError", "two lines")),
        ("raise ValueError", error_of_import(6, "ValueError")),
        ("raise ValueError('\\x1b[31mred')", error_of_import(6, "ValueError", "\\x1b[31mred")),
        ("raise ValueError('x' * 1000)", error_of_import(6, "ValueError", f"{'x' * MAX_EXCEPTION}…")),
        ("import sys\nsys.exit(0)", error_of_import(7, "SystemExit", "0")),
        ("raise BaseException('no')", error_of_import(6, "BaseException", "no")),
        ("class E(Exception):\n    def __str__(self): raise self\nraise E", error_of_import(8, "E")),
        ("import broken", error_of_import(6, "SyntaxError", "invalid syntax (broken.py, line 1)")),
        (
            "import json\njson.loads('')",
            error_of_import(7, "JSONDecodeError", "Expecting value: line 1 column 1 (char 0)"),
        ),
    ],
)
def test_an_exception_unregisters_the_parts_of_the_file(text: str, sentence: str) -> None:
    write("broken.py", "def (")
    write("my_parts.py", MINE + text)
    assert load_error("my_parts.py") == sentence


def test_the_exception_of_the_file_is_the_cause_of_the_error() -> None:
    write("my_parts.py", "1 / 0")
    with pytest.raises(UserError) as caught:
        load_code("my_parts.py")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.problem.code == "code-raises"


def test_an_interrupt_is_not_an_error() -> None:
    write("my_parts.py", f"{MINE}raise KeyboardInterrupt")
    parts = user_defined_parts()
    with pytest.raises(KeyboardInterrupt):
        load_code("my_parts.py")
    assert user_defined_parts() == parts
    assert "my_parts" not in sys.modules


def test_a_file_that_failed_can_be_corrected_with_its_neighbors() -> None:
    write("cells.py", MINE)
    write("my_parts.py", "import cells\n1 / 0")
    assert load_error("my_parts.py").startswith("my_parts.py:2: importing it raised ZeroDivisionError")
    write("my_parts.py", "import cells")
    load_code("my_parts.py")
    assert "mine" in ACTIVATIONS


def test_a_file_that_registers_nothing_is_refused() -> None:
    advice = "Call one of `seqloom.register` in it, such as @seqloom.register.cell('mine')"
    assert load_error(write("my_parts.py", "a = 1")) == f"my_parts.py: registers nothing. {advice}."


def test_a_taken_name_is_refused() -> None:
    text = REGISTERS + 'from seqloom.core.names import SCORES\nSCORES.add("dot", Origin.of(Mine))'
    write("my_parts.py", text.format(name="mine"))
    parts = user_defined_parts()
    with pytest.raises(PartError) as caught:
        load_code("my_parts.py")
    assert str(caught.value) == "my_parts.py:4: the score 'dot' is taken. Give it another name."
    assert user_defined_parts() == parts
    assert SCORES.origin("dot") is None
    assert "mine" not in ACTIVATIONS


@pytest.mark.parametrize("name", ["run/my_parts.py", "run/code/my_parts.py", "run/../run/my_parts.py"])
def test_a_file_in_a_run_is_refused(folder: Path, name: str) -> None:
    write("run/manifest.json", "{}")
    write(name, MINE)
    advice = "Read it, and copy it elsewhere"
    message = f"is in a run's folder ({folder / 'run'}), and code is never loaded from a run"
    assert load_error(name) == f"{name}: {message}. {advice}."


def test_a_link_into_a_run_or_out_of_it_is_refused() -> None:
    write("run/manifest.json", "{}")
    write("run/my_parts.py", MINE)
    Path("link.py").symlink_to("run/my_parts.py")
    assert "code is never loaded from a run" in load_error("link.py")
    write("outside.py", MINE)
    Path("run/inside.py").symlink_to("../outside.py")
    assert "code is never loaded from a run" in load_error("run/inside.py")
    load_code("run/../outside.py")
    assert "mine" in ACTIVATIONS


@pytest.mark.parametrize("name", ["torch", "seqloom", "json", "wave", "sys", "__main__"])
def test_a_file_with_the_name_of_another_module_is_refused(name: str) -> None:
    write(f"{name}.py", MINE)
    sentence = load_error(f"{name}.py")
    assert sentence.startswith(f"{name}.py: its name is that of another module, {name} (")
    assert sentence.endswith("). Rename the file.")


def test_a_file_with_the_name_of_another_code_file_is_refused() -> None:
    load_code(write("a/my_parts.py", MINE))
    path = Path.cwd() / "a" / "my_parts.py"
    sentence = f"b/my_parts.py: its name is that of another module, my_parts ({path}). Rename the file."
    assert load_error(write("b/my_parts.py", REGISTERS.format(name="other"))) == sentence


def test_a_file_name_with_invisible_characters_is_refused() -> None:
    write("my\nparts.py", MINE)
    assert load_error("my\nparts.py") == "my\\nparts.py: the name of this file has invisible characters. Rename it."
