"""`seqloom doctor`: versions, devices and backends of this machine; which backends compute a given model."""

import os
import platform
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from seqloom.cli.console import output, print_labeled, waiting
from seqloom.cli.help import Command

if TYPE_CHECKING:
    import torch
    from torch import nn

PACKAGES = ("numpy", "tokenizers", "safetensors", "pydantic", "click", "rich")
EXTRAS = {"track": "TensorBoard files (--train.tensorboard)"}  # that this version uses, and for what


@click.command(cls=Command, short_help="Show versions, devices, and which backends work here.")
def doctor() -> None:
    """Show what this machine has: versions, devices, memory, the cache, and which backends work here, or why not.

    \b
    Example:
      $ seqloom doctor
    """
    from seqloom.data.cache import cache_folder
    from seqloom.views.format import byte_size

    console = output()
    print_labeled(console, "seqloom", f"{installed('seqloom')}, in {Path(__file__).parents[1]}")
    print_labeled(console, "python", f"{platform.python_version()} ({platform.system()} {platform.machine()})")
    print_labeled(console, "packages", ", ".join(f"{name} {installed(name)}" for name in PACKAGES))
    with waiting(console, "starting torch …"):
        from seqloom.kernels.vendor import BACKENDS
    for label, text in torch_lines():
        print_labeled(console, label, text)
    for name in BACKENDS:
        print_labeled(console, "backend", f"{name}: {describe_backend(name)}")
    folder = cache_folder()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else 0
    advice = "it may be deleted at any time; SEQLOOM_CACHE names another folder"
    print_labeled(console, "cache", f"{folder}: {byte_size(size)} ({advice})")
    for name, purpose in EXTRAS.items():
        missing = any(installed(package) == "missing" for package in packages_of(name))
        state = f"missing; get it with `pip install 'seqloom[{name}]'`" if missing else "installed"
        print_labeled(console, "extra", f"{name}, for {purpose}: {state}")


def packages_of(extra: str) -> list[str]:
    """The packages that an extra installs.

    >>> packages_of("track")
    ['tensorboard']
    """
    requirements = [line.partition(";") for line in metadata.requires("seqloom") or ()]
    wanted = re.compile(rf"extra == ['\"]{extra}['\"]")
    return [re.split(r"[^\w.-]", name)[0] for name, _, condition in requirements if wanted.search(condition)]


def installed(package: str) -> str:
    """The version of a package, or `missing`."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def torch_lines() -> Iterator[tuple[str, str]]:
    """Torch, threads, memory and devices."""
    import torch

    from seqloom.views.format import byte_size

    cuda = torch.version.cuda
    yield "torch", f"{torch.__version__}, built for {f'CUDA {cuda}' if cuda else 'the CPU'}"
    yield "threads", f"{torch.get_num_threads()} of {os.cpu_count()} cores (OMP_NUM_THREADS sets them)"
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        page, total = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
        has_free = "SC_AVPHYS_PAGES" in os.sysconf_names
        free = f", {byte_size(page * os.sysconf('SC_AVPHYS_PAGES'))} free" if has_free else ""
        yield "memory", f"{byte_size(page * total)}{free}"
    yield "cpu", "usable"
    without = "this torch is built without it"
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            device = torch.cuda.get_device_properties(number)
            yield "cuda", f"usable: {device.name}, {byte_size(device.total_memory)}"
    else:
        yield "cuda", f"not usable: {without if cuda is None else 'torch finds no device or driver'}"
    if torch.backends.mps.is_available():
        yield "mps", "usable: Apple GPU"
    else:
        built = torch.backends.mps.is_built()
        yield "mps", f"not usable: {'torch finds no Apple GPU' if built else without}"


def describe_backend(name: str) -> str:
    """Which recurrences a backend runs, by running each, and why it can't run the others."""
    import torch

    from seqloom.core.problem import UnavailableBackend
    from seqloom.kernels import use
    from seqloom.nn.cells import CELLS
    from seqloom.nn.recurrent import Recurrent

    usable, reason = [], ""
    with torch.inference_mode():
        for equation, cell in CELLS.items():
            try:
                with use(name):
                    Recurrent(cell(2, 2))(torch.zeros(1, 2, 2))
                usable.append(equation)
            except UnavailableBackend as error:
                reason = str(error)
    if not usable:
        return f"not usable: {reason}"
    if not reason:
        return "usable, for every recurrence"
    others = [equation for equation in CELLS if equation not in usable]
    return f"usable for {', '.join(usable)}; torch has no kernel for {', '.join(others)}"


def backend_names(model: "nn.Module", device: "torch.device") -> list[str]:
    """The backends that compute the recurrences and the attention of a model, as `seqloom.kernels` chooses them."""
    import torch

    from seqloom.kernels.recurrence import Recurrence
    from seqloom.kernels.vendor import REFERENCE, Vendor, choose_backend
    from seqloom.nn.attention import Attention
    from seqloom.nn.recurrent import Recurrent
    from seqloom.nn.state import State

    names: dict[str, None] = {}
    for layer in model.modules():
        if isinstance(layer, Recurrent):
            cell, equation = layer.cell, None if layer.zoneout else layer.cell.equation
            x = torch.empty(1, 2, layer.input_size)  # more than one step, as in training
            recurrence = Recurrence(equation, x, State(), None, cell.project, cell.step, cell.operands)
            if choose_backend(recurrence) is not REFERENCE:
                name = vendor_kernel(str(equation), device)
            else:
                after = f"{equation}-after"
                name = "reference loop" + f" ({after} has a faster kernel)" * (after in Vendor.equations)
            names[name] = None
        elif isinstance(layer, Attention):
            names["scaled_dot_product_attention" if layer.fused else "unfused attention"] = None
    return list(names)


def vendor_kernel(equation: str, device: "torch.device") -> str:
    """The library in which torch runs a recurrence on a device, and its kernel."""
    import torch

    kernel = {"lstm": "LSTM", "gru-after": "GRU"}.get(equation, "RNN")
    if device.type == "cuda" and torch.backends.cudnn.enabled:
        return f"cuDNN {kernel}"
    if device.type == "cpu" and kernel == "LSTM" and torch.backends.mkldnn.is_available():
        return "oneDNN LSTM"  # the others are loops of ATen
    return f"ATen {kernel}"
