import threading
from unittest.mock import patch

import pytest
import torch

from seqloom.core.problem import UnavailableBackend, UnknownName
from seqloom.kernels.recurrence import Recurrence, Reference
from seqloom.kernels.vendor import BACKENDS, REFERENCE, choose_backend, use
from seqloom.nn.cells import GRU, LSTM, RNN
from seqloom.nn.recurrent import Recurrent
from seqloom.nn.state import State


def recurrence(equation: str | None) -> Recurrence:
    cell = RNN(3, 4)
    return Recurrence(equation, torch.randn(2, 3, 3), State(), None, cell.project, cell.step, cell.operands)


def test_the_fastest_that_fits_is_picked() -> None:
    assert choose_backend(recurrence("lstm")).name == "vendor"
    assert choose_backend(recurrence("gru")).name == "reference"
    assert choose_backend(recurrence(None)).name == "reference"


def test_a_name_is_obeyed_within_the_block() -> None:
    with use("reference"):
        assert choose_backend(recurrence("lstm")) is REFERENCE
        with use("vendor"):
            assert choose_backend(recurrence("lstm")).name == "vendor"
        assert choose_backend(recurrence("lstm")) is REFERENCE
    assert choose_backend(recurrence("lstm")).name == "vendor"


def test_an_error_within_the_block_ends_it() -> None:
    with pytest.raises(ZeroDivisionError), use("reference"):
        raise ZeroDivisionError
    assert choose_backend(recurrence("lstm")).name == "vendor"


def test_an_unknown_name_is_an_error_at_once() -> None:
    with pytest.raises(UnknownName, match=r"unknown backend 'vender'\. Did you mean 'vendor'\?"), use("vender"):
        pytest.fail("the block should not run")


def test_a_backend_asked_for_by_name_says_why_it_cannot() -> None:
    with use("vendor"):
        with pytest.raises(UnavailableBackend) as caught:
            choose_backend(recurrence("gru-minimal"))
        assert str(caught.value) == (
            "backend 'vendor' can't run this recurrence: torch has no kernel for the equation 'gru-minimal'; "
            "it has lstm, gru-after, rnn, rnn-relu."
        )
        with pytest.raises(UnavailableBackend, match=r"for the equation 'gru'; it has lstm"):
            Recurrent(GRU(3, 4))(torch.randn(2, 5, 3))
        with pytest.raises(UnavailableBackend, match="it names no equation"):  # zoneout makes it another one
            Recurrent(LSTM(3, 4), zoneout=0.1)(torch.randn(2, 5, 3))


def test_a_thread_has_a_choice_of_its_own() -> None:
    found = {}

    def look(name: str) -> None:
        found[name] = choose_backend(recurrence("lstm")).name

    with use("reference"):
        thread = threading.Thread(target=look, args=("outside",))
        thread.start()
        thread.join()
        look("inside")
    assert found == {"outside": "vendor", "inside": "reference"}


def test_backends_stand_from_fastest_to_slowest_and_the_last_takes_all() -> None:
    assert list(BACKENDS)[-1] == "reference"
    assert all(BACKENDS[name].name == name for name in BACKENDS)


def test_every_layer_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `use` names is what runs: no layer keeps a backend of its own."""
    ran = []
    run = Reference.run

    def watched(self: Reference, recurrence: Recurrence) -> object:
        ran.append(recurrence.equation)
        return run(self, recurrence)

    monkeypatch.setattr(Reference, "run", watched)
    with use("reference"):
        Recurrent(LSTM(3, 4))(torch.randn(2, 5, 3))
    Recurrent(LSTM(3, 4))(torch.randn(2, 5, 3))
    assert ran == ["lstm"]


def test_one_step_runs_the_loop() -> None:
    layer = Recurrent(LSTM(3, 4))
    with patch.object(BACKENDS["vendor"], "run", side_effect=AssertionError("the vendor's kernel ran")):
        layer(torch.randn(2, 1, 3))
        with pytest.raises(AssertionError, match="the vendor's kernel ran"):
            layer(torch.randn(2, 2, 3))
