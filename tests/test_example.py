"""The example runs from start to end and writes its files."""

import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

root = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_first_model_runs(tmp_path: Path) -> None:
    program = [sys.executable, root / "examples" / "first_model.py", "--seconds", "2", "--out", tmp_path / "run"]
    output = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert "nats per character on validation text" in output
    assert "\ndef " in output
    assert load_file(tmp_path / "run" / "model.safetensors")
    assert (tmp_path / "run" / "loss.svg").read_text().startswith("<?xml")
