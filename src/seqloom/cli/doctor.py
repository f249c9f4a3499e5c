"""`seqloom doctor`: versions, devices and backends of this machine; which backends compute a given model."""

import os
import platform
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from seqloom.cli.console import print_labeled, show_spinner, stdout
from seqloom.cli.help import Command

if TYPE_CHECKING:
    import torch
    from torch import nn

PACKAGES = ("numpy", "tokenizers", "safetensors", "pydantic", "click", "rich")
EXTRAS = {"track": "TensorBoard files (--train.tensorboard)"}  # optional dependencies, and what they are for
LOOP = "reference loop"


@click.command(cls=Command, short_help="Show versions, devices, and which backends work here.")
def doctor() -> None:
    """Show versions, devices, memory, the cache, and which backends work on this machine, or why they do not.

    \b
    Example:
      $ seqloom doctor
    """
    from seqloom.data.cache import cache_folder
    from seqloom.views.format import byte_size

    console = stdout()
    print_labeled(console, "seqloom", f"{package_version('seqloom')}, in {Path(__file__).parents[1]}")
    print_labeled(console, "python", f"{platform.python_version()} ({platform.system()} {platform.machine()})")
    print_labeled(console, "packages", ", ".join(f"{name} {package_version(name)}" for name in PACKAGES))
    with show_spinner(console, "starting torch …"):
        from seqloom.kernels.recurrence import BACKENDS
    for label, text in torch_lines():
        print_labeled(console, label, text)
    for name in BACKENDS:
        print_labeled(console, "backend", describe_backend(name))
    folder = cache_folder()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else 0
    advice = "it may be deleted at any time; SEQLOOM_CACHE names another folder"
    print_labeled(console, "cache", f"{folder}: {byte_size(size)} ({advice})")
    for name, purpose in EXTRAS.items():
        missing = any(package_version(package) == "missing" for package in packages_of(name))
        state = f"missing; get it with `pip install 'seqloom[{name}]'`" if missing else "installed"
        print_labeled(console, "extra", f"{name}, for {purpose}: {state}")


def packages_of(extra: str) -> list[str]:
    """The packages that an extra installs.

    >>> packages_of("track")
    ['tensorboard']
    """
    requirements = [line.partition(";") for line in metadata.requires("seqloom") or ()]
    condition = re.compile(rf"extra == ['\"]{extra}['\"]")
    return [re.split(r"[^\w.-]", name)[0] for name, _, marker in requirements if condition.search(marker)]


def package_version(package: str) -> str:
    """The version of a package, or `missing`."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def torch_lines() -> Iterator[tuple[str, str]]:
    """Labels and texts about torch, threads, memory and devices."""
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
    not_built = "this torch is built without it"
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            device = torch.cuda.get_device_properties(number)
            yield "cuda", f"usable: {device.name}, {byte_size(device.total_memory)}"
    else:
        yield "cuda", f"not usable: {not_built if cuda is None else 'torch finds no device or driver'}"
    if torch.backends.mps.is_available():
        yield "mps", "usable: Apple GPU"
    else:
        built = torch.backends.mps.is_built()
        yield "mps", f"not usable: {'torch finds no Apple GPU' if built else not_built}"


def describe_backend(name: str) -> str:
    """Run each recurrence on a backend, and describe which work, by which kernels, and why the others do not."""
    import torch

    from seqloom.core.problem import UnavailableBackend
    from seqloom.kernels import use
    from seqloom.nn.cells import CELLS
    from seqloom.nn.recurrent import Recurrent
    from seqloom.runs.devices import resolve_device

    usable, others, reason = [], [], ""
    for equation, cell in CELLS.items():
        try:
            with use(name), torch.inference_mode():
                Recurrent(cell(2, 2))(torch.zeros(1, 2, 2))
            usable.append(equation)
        except UnavailableBackend as error:
            others.append(equation)
            reason = str(error)
    if not usable:
        return f"{name}: not usable: {reason}"
    if not others:
        return f"{LOOP if name == 'reference' else name}: usable, for every recurrence"
    device = resolve_device("auto")
    kernels = ", ".join(f"{equation} ({kernel_name(equation, device)})" for equation in usable)
    return f"{name}: usable for {kernels}; torch has no kernel for {', '.join(others)}"


def backend_names(model: "nn.Module", device: "torch.device") -> list[str]:
    """The kernels for the recurrences and the attention of a model on a device, by their names in `seqloom doctor`."""
    import torch

    from seqloom.kernels.recurrence import REFERENCE, Recurrence, Vendor, choose_backend
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
                name = kernel_name(str(equation), device)
            else:
                variant = f"{equation}-after"
                name = LOOP + f", {variant} has a faster kernel" * (variant in Vendor.equations)
            names[name] = None
        elif isinstance(layer, Attention):
            names["scaled_dot_product_attention" if layer.fused else "unfused attention"] = None
    return list(names)


def kernel_name(equation: str, device: "torch.device") -> str:
    """The library and kernel of the vendor backend that run a recurrence on a device."""
    import torch

    kernel = {"lstm": "LSTM", "gru-after": "GRU"}.get(equation, "RNN")
    if device.type == "cuda" and torch.backends.cudnn.enabled:
        return f"cuDNN {kernel}"
    if device.type == "cpu" and kernel == "LSTM" and torch.backends.mkldnn.is_available():
        return "oneDNN LSTM"  # torch runs the others as ATen loops
    return f"ATen {kernel}"
