"""Where a user-defined part comes from: which file registers it, what its hash covers, where messages locate it."""

import sys
from functools import partial
from hashlib import sha256
from importlib import import_module, reload
from pathlib import Path

import pytest
import torch

from seqloom.core.code_file import load_code
from seqloom.core.names import OPTIMIZERS, SCHEDULES
from seqloom.core.part_origin import Origin, code_hash, location_of
from seqloom.core.problem import PartError

pytestmark = pytest.mark.usefixtures("forget_parts")

REGISTERS = "import seqloom\n{before}\nseqloom.register.schedule('mine', {part})\n"
SCHEDULE = "def mine(at, train):\n    return 1.0\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def write(name: str, text: str) -> Path:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def registered_origin() -> Origin:
    origin = SCHEDULES.origin("mine")
    assert origin is not None
    return origin


def test_the_origin_of_a_part_is_its_file(folder: Path) -> None:
    path = write("own_parts.py", REGISTERS.format(before=SCHEDULE, part="mine"))
    load_code(path)
    origin = registered_origin()
    assert (origin.module, origin.file, origin.name) == ("own_parts", "own_parts.py", "mine")
    assert origin.sha256 == sha256(path.read_bytes()).hexdigest()
    assert (origin.location, origin.path) == ("own_parts.py:2", str(folder / "own_parts.py"))


def test_the_origin_is_the_same_from_the_command_line_and_from_python() -> None:
    write("rates.py", SCHEDULE)
    load_code(write("own_parts.py", REGISTERS.format(before="from rates import mine", part="mine")))
    origin = registered_origin()
    assert (origin.file, origin.location) == ("own_parts.py", "rates.py:1")  # --code needs the file that registers it
    SCHEDULES.remove("mine")
    del sys.modules["own_parts"]
    import_module("own_parts")
    assert registered_origin() == origin
    exec("import seqloom, rates\nseqloom.register.schedule('other', rates.mine)", {"__name__": "__main__"})
    other = SCHEDULES.origin("other")
    assert other is not None
    assert (other.module, other.file, other.sha256) == ("__main__", "rates.py", origin.sha256)


def test_the_hash_covers_imported_neighbors(folder: Path) -> None:
    write("lib/__init__.py", "")
    write("lib/low.py", "import os\nfrom .lower import ONE\n")
    write("lib/lower.py", "ONE = 1\n")
    write("helper.py", "from lib.low import ONE\nimport numpy\n")
    path = write("own_parts.py", "def f():\n    import helper\n")
    hashes = {code_hash(path.absolute())}
    for name in ("own_parts.py", "helper.py", "lib/low.py", "lib/lower.py", "lib/__init__.py"):
        write(name, Path(name).read_text() + "\n# changed\n")
        hashes.add(code_hash(folder / "own_parts.py"))
    assert len(hashes) == 6
    write("unrelated.py", "")
    assert code_hash(folder / "own_parts.py") in hashes
    write("helper.py", "def (")
    assert code_hash(folder / "own_parts.py") not in hashes
    write("helper.py", "import own_parts")  # a circular import
    assert code_hash(folder / "own_parts.py") not in hashes


def test_a_package_may_import_itself_by_its_name() -> None:
    write("own/__init__.py", "")
    write("own/parts.py", "from own.parse import parse\n")
    write("own/parse.py", "def parse(): ...\n")
    write("loose/parts.py", "import loose.parse\n")
    write("loose/parse.py", "def parse(): ...\n")
    for path, module in (("own/parts.py", ""), ("own/parts.py", "own.parts"), ("loose/parts.py", "loose.parts")):
        before = code_hash(Path(path), module=module)
        neighbor = Path(path).with_name("parse.py")
        write(str(neighbor), neighbor.read_text() + "# changed\n")
        assert code_hash(Path(path), module=module) != before


def test_the_hash_is_of_the_text_that_ran() -> None:
    text = REGISTERS.format(before=f"{SCHEDULE}from pathlib import Path\nPath(__file__).write_text('1')", part="mine")
    path = write("own_parts.py", text)
    load_code(path)
    assert path.read_text() == "1"
    assert registered_origin().sha256 == sha256(text.encode()).hexdigest()


def test_the_origin_of_a_part_of_a_library_is_the_file_that_registers_it() -> None:
    text = "import seqloom, torch\nseqloom.register.optimizer('adamax', torch.optim.Adamax)\n"
    path = write("own_parts.py", text)
    load_code(path)
    origin = OPTIMIZERS.origin("adamax")
    assert origin is not None
    assert (origin.file, origin.sha256) == ("own_parts.py", sha256(path.read_bytes()).hexdigest())
    assert origin.location == "own_parts.py:2"


def test_the_origin_of_a_partial_function_is_the_file_that_registers_it() -> None:
    write("rates.py", "def mine(factor, at, train):\n    return factor\n")
    before = "from functools import partial\nfrom rates import mine"
    path = write("own_parts.py", REGISTERS.format(before=before, part="partial(mine, 0.5)"))
    load_code(path)
    assert registered_origin().sha256 == code_hash(path.absolute())


def test_the_origin_of_a_definition_without_a_file_is_its_module() -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    exec(REGISTERS.format(before=SCHEDULE, part="mine"), namespace)
    assert (registered_origin().module, registered_origin().file, registered_origin().path) == ("__main__", "", "")
    exec(REGISTERS.format(before=SCHEDULE, part="mine"), namespace)  # a cell of a notebook, run again
    with pytest.raises(PartError, match="the schedule 'mine' is taken"):
        exec(REGISTERS.format(before="def other(at, train):\n    return 1.0", part="other"), namespace)


def test_two_results_of_a_factory_are_different_parts() -> None:
    factory = "def factory(factor):\n    def mine(at, train):\n        return factor\n    return mine"
    load_code(write("own_parts.py", REGISTERS.format(before=factory, part="factory(1.0)")))
    text = "import seqloom, own_parts\nseqloom.register.schedule('mine', own_parts.factory(0.5))\n"
    with pytest.raises(PartError, match="the schedule 'mine' is taken"):
        load_code(write("more_parts.py", text))


def test_a_module_may_be_reloaded_with_another_definition() -> None:
    write("own_parts.py", REGISTERS.format(before=SCHEDULE, part="mine"))
    module = import_module("own_parts")
    before = registered_origin().sha256
    write("own_parts.py", REGISTERS.format(before=SCHEDULE, part="mine") + "# changed\n")
    reload(module)
    assert registered_origin().sha256 != before


@pytest.mark.parametrize("part", [torch.nn.GELU(), 3, "text", torch.optim.Adamax, partial(print)])
def test_an_object_without_a_line_is_located_at_the_call(part: object) -> None:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    location = location_of(part)
    line = next(number for number, text in enumerate(lines, 1) if text.startswith("    location = "))
    assert location == f"{__file__}:{line}"
