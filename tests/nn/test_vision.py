"""Stems of images. An image is no sequence, so its stems are not in the conformance suite."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from seqloom.core.problem import ArgumentError
from seqloom.nn.positions import LearnedPositions, Sinusoidal
from seqloom.nn.vision import ImageCNN, PatchEmbedding, ResidualConvolution


def grid(*widths: int) -> ImageCNN:
    return ImageCNN(3, 5, widths=widths or (4, 6)).double()


def patches(patch: int = 4) -> PatchEmbedding:
    return PatchEmbedding(3, 5, patch).double()


def images(rows: int, height: int, width: int) -> torch.Tensor:
    return torch.randn(rows, 3, height, width, dtype=torch.float64)


@pytest.fixture(params=[grid, patches])
def stem(request) -> ImageCNN | PatchEmbedding:
    return request.param()


# Regions ----------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(height=st.integers(1, 33), width=st.integers(1, 33), stages=st.integers(1, 4))
def test_stems_accept_images_of_any_size(height: int, width: int, stages: int) -> None:
    stem = ImageCNN(1, 3, widths=(2,) * stages)
    rows, columns = stem.regions(height, width)
    assert stem(torch.randn(2, 1, height, width)).shape == (2, rows * columns, 3)
    assert stem.grid(torch.randn(2, 1, height, width)).shape == (2, 3, rows, columns)
    assert (rows, columns) == (-(-height // 2**stages), -(-width // 2**stages))


@given(rows=st.integers(1, 5), columns=st.integers(1, 5), patch=st.integers(1, 6))
def test_an_image_has_as_many_patches_as_fit(rows: int, columns: int, patch: int) -> None:
    stem, height, width = patches(patch), rows * patch, columns * patch
    assert stem.regions(height, width) == (rows, columns)
    assert stem(images(2, height, width)).shape == (2, rows * columns, 5)


def test_regions_are_in_row_major_order(stem) -> None:
    pictures = images(2, 8, 12)  # 2 rows of 3 regions
    x, regions = stem(pictures), stem.grid(pictures)
    for row in range(2):
        for column in range(3):
            assert torch.equal(x[:, 3 * row + column], regions[:, :, row, column])


def test_a_bright_spot_is_in_its_region(stem) -> None:
    """Every filter sums its inputs, so the brightest region contains the spot."""
    with torch.no_grad():
        for name, weight in stem.named_parameters():
            if weight.dim() == 4:
                weight.fill_(0.1)
            elif name.endswith("bias"):
                weight.zero_()
    for row in range(4):
        for column in range(6):
            picture = torch.zeros(1, 3, 16, 24, dtype=torch.float64)
            picture[:, :, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 1.0
            assert stem(picture).sum(dim=2).argmax() == 6 * row + column


def test_a_patch_sees_itself_alone() -> None:
    pictures = images(1, 8, 12)
    other = pictures.clone()
    other[:, :, 5, 9] += 1  # in row 1, column 2
    stem = patches()
    moved = stem(other) - stem(pictures)
    assert moved.norm(dim=2).nonzero().tolist() == [[0, 5]]


def test_positions_are_added(stem) -> None:
    images_ = images(2, 8, 12)
    without = stem(images_)
    for positions in (Sinusoidal(5), LearnedPositions(5, 6)):
        added = positions.double()
        stem.positions = added
        torch.testing.assert_close(stem(images_) - without, added(torch.zeros_like(without))[0])
    stem.positions = LearnedPositions(5, 4).double()
    with pytest.raises(ArgumentError, match=r"LearnedPositions: x has 6 steps; expected at most 4 in all\."):
        stem(images_)


# Equations --------------------------------------------------------------------------------------------------------


def test_patches_are_projected_by_one_linear_map() -> None:
    stem, pictures = patches(), images(2, 8, 12)
    squares = F.unfold(pictures, kernel_size=4, stride=4).transpose(1, 2)  # [batch, regions, channels · 4 · 4]
    expected = F.linear(squares, stem.project.weight.flatten(1), stem.project.bias)
    torch.testing.assert_close(stem(pictures), expected)


@pytest.mark.parametrize("output", [4, 6], ids=["same width", "wider"])
def test_a_residual_block_equals_its_formula(output: int) -> None:
    block, x = ResidualConvolution(4, output, stride=2).double(), torch.randn(2, 4, 7, 6, dtype=torch.float64)
    with torch.no_grad():
        for weight in block.parameters():
            weight += 0.3 * torch.randn_like(weight)
    norm, _, first, norm_again, _, second = block.inner

    def normalised(values, norm):
        mean, variance = values.mean(dim=(1, 2, 3), keepdim=True), values.var(dim=(1, 2, 3), keepdim=True, correction=0)
        shape = (1, -1, 1, 1)
        return norm.weight.reshape(shape) * (values - mean) / (variance + norm.eps).sqrt() + norm.bias.reshape(shape)

    hidden = F.conv2d(normalised(x, norm).relu(), first.weight, first.bias, stride=2, padding=1)
    inner = F.conv2d(normalised(hidden, norm_again).relu(), second.weight, second.bias, padding=1)
    around = torch.stack(  # means of 2 by 2 squares, or of fewer values at an odd edge
        [torch.stack([x[:, :, r : r + 2, c : c + 2].mean(dim=(2, 3)) for c in (0, 2, 4)], dim=2) for r in (0, 2, 4, 6)],
        dim=2,
    )
    if output != 4:
        around = F.conv2d(around, block.shortcut[1].weight, block.shortcut[1].bias)
    torch.testing.assert_close(block(x), around + inner)


def test_a_grid_is_computed_by_its_stages() -> None:
    stem, pictures = grid(4, 6), images(2, 9, 5)
    x = stem.stages[1](stem.stages[0](stem.first(pictures)))
    norm, _, out = stem.last
    expected = F.conv2d(F.group_norm(x, 1, norm.weight, norm.bias, norm.eps).relu(), out.weight, out.bias)
    torch.testing.assert_close(stem.grid(pictures), expected)


# Batches, gradients, precision ------------------------------------------------------------------------------------


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_the_output_of_an_image_does_not_depend_on_the_batch(stem, training: bool) -> None:
    stem.train(training)
    pictures = images(3, 8, 12)
    together = stem(pictures)
    for row in range(3):
        torch.testing.assert_close(stem(pictures[row : row + 1])[0], together[row], rtol=0, atol=1e-12)
    assert stem(pictures[:0]).shape == (0, 6, 5)


def test_gradients_equal_finite_differences(stem) -> None:
    pictures = images(2, 4, 8).requires_grad_()
    assert torch.autograd.gradcheck(lambda *_: stem(pictures), (pictures, *stem.parameters()), fast_mode=True)


def test_stems_run_in_bfloat16(stem) -> None:
    pictures = images(2, 8, 12).bfloat16()
    low = stem.bfloat16()(pictures)
    assert low.dtype == torch.bfloat16
    torch.testing.assert_close(low.double(), stem.double()(pictures.double()), rtol=0.05, atol=0.05)


# Invalid input ----------------------------------------------------------------------------------------------------

wrong_images = {
    "images has shape [3, 8, 8]; expected [batch, 3, height, width].": torch.rand(3, 8, 8),
    "images has shape [2, 8, 8, 3]; expected [batch, 3, height, width].": torch.rand(2, 8, 8, 3),
    "images has shape [2, 3, 0, 8]; expected [batch, 3, height, width].": torch.rand(2, 3, 0, 8),
    "images has type torch.uint8; expected real values; divide bytes by 255.": torch.zeros(2, 3, 8, 8).byte(),
    "images is a list; expected a tensor [batch, 3, height, width].": [[0.0]],
    "images is on meta; expected cpu, where the weights are; move it with .to('cpu').": torch.rand(
        2, 3, 8, 8, device="meta"
    ),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("complaint", "pictures"), wrong_images.items(), ids=range(len(wrong_images)))
def test_an_invalid_image_is_an_error(stem, complaint: str, pictures: object) -> None:
    with pytest.raises(ArgumentError) as caught:
        stem(pictures)
    assert str(caught.value) == f"{type(stem).__name__}: {complaint}"


def test_sides_that_are_no_multiples_of_the_patch_are_an_error() -> None:
    complaint = (
        r"^PatchEmbedding: images has height 8 and width 10; expected sides that are multiples of the patch, 4\.$"
    )
    with pytest.raises(ArgumentError, match=complaint):
        patches()(images(2, 8, 10))
    with pytest.raises(ArgumentError, match=complaint):
        patches().regions(8, 10)


@pytest.mark.usefixtures("unchecked")
def test_invalid_settings_are_errors() -> None:
    for make, complaint in (
        (lambda: ImageCNN(3, 5, widths=()), "ImageCNN: widths has no stage; expected the width of at least one."),
        (lambda: ImageCNN(0, 5), "ImageCNN: channels is 0; expected a whole number, at least 1."),
        (lambda: PatchEmbedding(3, 5, 0), "PatchEmbedding: patch is 0; expected a whole number, at least 1."),
        (
            lambda: PatchEmbedding(3, 5, 4, positions=Sinusoidal(4)),
            "PatchEmbedding: positions has width 4; expected 5, the stem's size.",
        ),
    ):
        with pytest.raises(ArgumentError, match=f"^{complaint}$"):
            make()
