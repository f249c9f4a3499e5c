"""The wheel works when it is installed without the source tree."""

import subprocess
import sys
from pathlib import Path

import pytest

root = Path(__file__).parent.parent


def run(*command: str | Path, **settings: object) -> str:
    result = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, **settings)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.strip()


@pytest.mark.slow
def test_the_wheel_works_alone(tmp_path: Path) -> None:
    run("-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", root)  # the sdist, and the wheel built from it
    assert len(list((tmp_path / "dist").glob("seqloom-*.tar.gz"))) == 1
    (wheel,) = (tmp_path / "dist").glob("seqloom-*.whl")

    installed = tmp_path / "installed"
    run("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", installed, wheel)
    came_from = run(
        "-c",
        "import seqloom.nn; print(seqloom.nn.__file__)",
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},  # precedes the tree, which the editable install adds
    )
    assert Path(came_from) == installed / "seqloom" / "nn" / "__init__.py"
    assert (installed / "seqloom" / "py.typed").exists()
    assert len(list(installed.glob("seqloom-*.dist-info/licenses/LICENSE"))) == 1
