"""`seqloom.nn` imports nothing until a name is used, and every name in its list exists."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import seqloom.nn
from seqloom.core.lazy import attach


def test_every_public_name_exists() -> None:
    assert seqloom.nn.__all__
    for name in seqloom.nn.__all__:
        assert getattr(getattr(seqloom.nn, name), "__name__", name) == name
    assert dir(seqloom.nn) == seqloom.nn.__all__


def test_every_name_is_in_the_list_once() -> None:
    stub = ast.parse(Path(seqloom.nn.__file__).with_suffix(".pyi").read_text())
    names = [alias.name for node in stub.body for alias in node.names]
    assert len(set(names)) == len(names)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'seqloom\.nn' has no attribute 'Lstm'"):
        seqloom.nn.Lstm  # noqa: B018
    with pytest.raises(ImportError):
        from seqloom.nn import Lstm  # noqa: F401


def test_torch_is_imported_with_the_first_name() -> None:
    program = "import sys, seqloom.nn; print('torch' in sys.modules); seqloom.nn.GRU; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "True"]


def test_names_of_any_package_can_be_lazy(tmp_path: Path) -> None:
    (tmp_path / "__init__.pyi").write_text("from math import pi as pi\nfrom math import tau as circle\n")
    get_name, list_names, names = attach("mine", str(tmp_path / "__init__.py"))
    assert names == list_names() == ["circle", "pi"]
    assert get_name("pi") == pytest.approx(3.14159, abs=1e-5)
    with pytest.raises(AttributeError, match="module 'mine' has no attribute 'e'"):
        get_name("e")


def test_registering_a_schedule_imports_no_torch() -> None:
    program = (
        "import sys, seqloom\n"
        "seqloom.register.schedule('mine', lambda state, train: 0.5)\n"
        "print('torch' in sys.modules)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_every_public_name_of_the_package_and_of_register_exists() -> None:
    assert {"train", "check", "load", "resume", "record", "nn", "register", "__version__"} <= set(seqloom.__all__)
    assert {"cell", "task", "metric"} <= set(seqloom.register.__all__)
    for module in (seqloom, seqloom.register):
        assert all(hasattr(module, name) for name in module.__all__)
        assert sorted(dir(module)) == sorted(module.__all__)
    with pytest.raises(AttributeError, match=r"module 'seqloom\.register' has no attribute 'cli'"):
        seqloom.register.cli  # noqa: B018
