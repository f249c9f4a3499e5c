"""The demo runs from start to end, and leaves what it says."""

import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

root = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_first_model_runs(tmp_path: Path) -> None:
    program = [sys.executable, root / "examples" / "first_model.py", "--seconds", "2", "--out", tmp_path / "run"]
    said = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert "nats a character on unseen text" in said
    assert "\ndef " in said
    assert load_file(tmp_path / "run" / "model.safetensors")
    assert (tmp_path / "run" / "loss.svg").read_text().startswith("<?xml")
