"""Stems for images: their regions are the grid cells of a small residual CNN, or patches.

Images are [batch, channels, height, width]; the sequence of regions is the grid in row-major order.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn

from seqloom.core.problem import ArgumentError
from seqloom.nn.layer import Layer
from seqloom.nn.stems import position_layer
from seqloom.nn.validation import check_count, check_same_device

Images = Float[Tensor, "batch channels height width"]


class ImageStem(nn.Module, ABC):
    """Images to a sequence of region vectors, x [batch, regions, size].

    channels, size: the channels of an image, and the width of a region's vector
    stride: the distance in pixels from one region to the next, in both directions
    positions: a layer that adds positions to the sequence; default: none
    """

    def __init__(self, channels: int, size: int, stride: int, positions: Layer | None) -> None:
        super().__init__()
        location = type(self).__name__
        check_count(location, "channels", channels)
        check_count(location, "size", size)
        self.channels, self.output_size, self.stride = channels, size, stride
        self.positions = position_layer(location, size, positions)

    @abstractmethod
    def grid(self, images: Images) -> Float[Tensor, "batch size rows columns"]:
        """A vector for each region."""

    def regions(self, height: int, width: int) -> tuple[int, int]:
        """The number of regions, down and across, of an image of this size."""
        return -(-height // self.stride), -(-width // self.stride)

    def forward(self, images: Images) -> Float[Tensor, "batch regions size"]:
        location = type(self).__name__
        expected = f"[batch, {self.channels}, height, width]"
        if not isinstance(images, Tensor):
            raise ArgumentError(location, "images", type(images).__name__, f"a tensor {expected}", verb="is a")
        if images.dim() != 4 or images.shape[1] != self.channels or 0 in images.shape[2:]:
            raise ArgumentError(location, "images", f"shape {list(images.shape)}", expected)
        if not images.is_floating_point():
            raise ArgumentError(location, "images", f"type {images.dtype}", "real values; divide bytes by 255")
        check_same_device(location, "images", images, next(self.parameters()))
        x: Tensor = self.positions(self.grid(images).flatten(2).transpose(1, 2))[0]
        return x


class ImageCNN(ImageStem):
    """A small residual CNN (He et al. 2016). Each stage halves height and width; the last one's cells are the regions.

    >>> stem = ImageCNN(channels=3, size=32, widths=(8, 16))
    >>> stem(torch.randn(2, 3, 16, 24)).shape, stem.regions(16, 24)
    (torch.Size([2, 24, 32]), (4, 6))
    """

    def __init__(
        self, channels: int, size: int, *, widths: Sequence[int] = (32, 64, 128), positions: Layer | None = None
    ) -> None:
        if not widths:
            raise ArgumentError("ImageCNN", "widths", "no stage", "the width of at least one")
        super().__init__(channels, size, 2 ** len(widths), positions)
        self.first = nn.Conv2d(channels, widths[0], 3, padding=1)
        inputs = [widths[0], *widths[:-1]]
        self.stages = nn.Sequential(*(ResidualConvolution(i, o, stride=2) for i, o in zip(inputs, widths, strict=True)))
        self.last = nn.Sequential(nn.GroupNorm(1, widths[-1]), nn.ReLU(), nn.Conv2d(widths[-1], size, 1))

    def grid(self, images: Images) -> Float[Tensor, "batch size rows columns"]:
        regions: Tensor = self.last(self.stages(self.first(images)))
        return regions


class ResidualConvolution(nn.Module):
    """y = shortcut(x) + conv(φ(norm(conv(φ(norm(x))))))   (He et al. 2016b, https://arxiv.org/abs/1603.05027)

    Group normalization keeps images of a batch independent. The shortcut averages if the grid shrinks, and is
    a linear map if the width changes.
    """

    def __init__(self, width: int, output: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.GroupNorm(1, width),
            nn.ReLU(),
            nn.Conv2d(width, output, 3, stride=stride, padding=1),
            nn.GroupNorm(1, output),
            nn.ReLU(),
            nn.Conv2d(output, output, 3, padding=1),
        )
        resize = nn.Identity() if width == output else nn.Conv2d(width, output, 1)
        self.shortcut = nn.Sequential(nn.AvgPool2d(stride, ceil_mode=True), resize)

    def forward(self, x: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch output rows columns"]:
        y: Tensor = self.shortcut(x) + self.inner(x)
        return y


class PatchEmbedding(ImageStem):
    """Squares of `patch` pixels, each through one linear map (ViT, Dosovitskiy et al. 2020, https://arxiv.org/abs/2010.11929).

    The sides of an image must be multiples of `patch`.

    >>> PatchEmbedding(channels=3, size=32, patch=8)(torch.randn(2, 3, 16, 24)).shape
    torch.Size([2, 6, 32])
    """

    def __init__(self, channels: int, size: int, patch: int, *, positions: Layer | None = None) -> None:
        check_count("PatchEmbedding", "patch", patch)
        super().__init__(channels, size, patch, positions)
        self.project = nn.Conv2d(channels, size, patch, stride=patch)

    def grid(self, images: Images) -> Float[Tensor, "batch size rows columns"]:
        self.regions(*images.shape[2:])  # checks that the sides are multiples of the patch
        regions: Tensor = self.project(images)
        return regions

    def regions(self, height: int, width: int) -> tuple[int, int]:
        if height % self.stride or width % self.stride:
            expected = f"sides that are multiples of the patch, {self.stride}"
            raise ArgumentError("PatchEmbedding", "images", f"height {height} and width {width}", expected)
        return super().regions(height, width)
