"""Real values at each step: regression, forecasts."""

import math

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.distributions import Normal

from seqloom.core.problem import ArgumentError
from seqloom.kernels.masks import mask_padding, readable_without_sync
from seqloom.nn.heads.head import Lengths, Loss, Scores, StepHead, Vectors, check_target_shape, count_steps, mask_target
from seqloom.nn.validation import check_count

Values = Float[Tensor, "batch time outputs"]


class RegressionHead(StepHead):
    """A head whose target is `outputs` real values per step; its loss counts values, so that the mean is per value."""

    def __init__(self, size: int, outputs: int, *, scores: int) -> None:
        check_count(type(self).__name__, "outputs", outputs)
        super().__init__(nn.Linear(size, scores))
        self.outputs = outputs

    def check_target(
        self, location: str, target: Tensor, scores: Float[Tensor, "*steps scores"], lengths: Lengths
    ) -> Float[Tensor, "*steps outputs"]:
        check_target_shape(location, target, (*scores.shape[:-1], self.outputs), "a value for each output", scores)
        if not target.is_floating_point():
            raise ArgumentError(location, "target", f"type {target.dtype}", "real values, such as torch.float32")
        target = mask_target(target, lengths)
        if readable_without_sync(target) and not bool(target.isfinite().all()):
            raise ArgumentError(location, "target", "a value that is not finite", "numbers; leave out missing values")
        return target.to(scores.dtype)

    def moment_scores(
        self, mean: Float[Tensor, " outputs"], variance: Float[Tensor, " outputs"]
    ) -> Float[Tensor, " scores"]:
        """The scores for which the prediction is the mean of the targets."""
        return mean

    @torch.no_grad()
    def init_bias_from_moments(self, mean: Shaped[Tensor, " outputs"], variance: Shaped[Tensor, " outputs"]) -> None:
        """Set b so that the prediction has the mean (and the variance, if it has one) of the targets, one per output.

        mean_o = 1/n Σ_t target_to,   variance_o = 1/n Σ_t (target_to − mean_o)²
        """
        location = type(self).__name__
        for argument, values in (("mean", mean), ("variance", variance)):
            if values.shape != (self.outputs,):
                expected = f"[{self.outputs}], one per output"
                raise ArgumentError(location, argument, f"shape {list(values.shape)}", expected)
            if not bool(values.isfinite().all()):
                raise ArgumentError(location, argument, "a value that is not finite", "numbers")
        if bool((variance < 0).any()):
            raise ArgumentError(location, "variance", f"the value {float(variance.min()):g}", "at least 0")
        self.output.bias.copy_(self.moment_scores(mean.double(), variance.double()))  # type: ignore[union-attr]

    def sum_losses(self, losses: Values, lengths: Lengths) -> Loss:
        return Loss(mask_padding(losses, lengths).sum(), count_steps(losses, lengths) * self.outputs)


class SquaredError(RegressionHead):
    """The mean of the target: ŷ_t = W y_t + b.

        loss = Σ_t Σ_o (target_to − ŷ_to)²            over valid steps; count: their values, so that the mean is the MSE

    `predict` returns ŷ, zero beyond a row's length. `init_bias_from_moments` sets b to the mean of the targets: with
    y = 0 the initial loss is their variance.

    >>> head = SquaredError(4, outputs=2)
    >>> head.loss(torch.randn(3, 5, 4), torch.zeros(3, 5, 2)).count
    tensor(30)
    """

    def __init__(self, size: int, outputs: int) -> None:
        super().__init__(size, outputs, scores=outputs)

    def loss_from_scores(self, scores: Scores, target: Values, lengths: Lengths) -> Loss:
        return self.sum_losses((target - scores).square(), lengths)

    def predict_from_scores(self, scores: Scores, lengths: Lengths) -> Values:
        return mask_padding(scores, lengths)


class GaussianLikelihood(RegressionHead):
    """The mean and the variance of the target: [μ_t; s_t] = W y_t + b, s = log σ² (Nix & Weigend 1994).

        loss = Σ_t Σ_o −log N(target_to; μ_to, σ²_to)             over valid steps; count: their values
             = Σ_t Σ_o ½ (log 2π + s + (target − μ)² e^{−s})

    `predict` returns μ, zero beyond a row's length. `distribution` returns N(μ, σ²): `.mean`, `.stddev`, and quantiles
    with `.icdf`. `init_bias_from_moments` sets b = [mean; log variance] of the targets (log variance = 0 of an output
    that does not vary): with y = 0 the initial loss is the entropy of a Gaussian, ½ (log 2πe + log variance).

    >>> head = GaussianLikelihood(4, outputs=2)
    >>> y = torch.randn(3, 5, 4)
    >>> head.predict(y).shape, head.distribution(y).stddev.shape
    (torch.Size([3, 5, 2]), torch.Size([3, 5, 2]))
    """

    def __init__(self, size: int, outputs: int) -> None:
        super().__init__(size, outputs, scores=2 * outputs)

    def loss_from_scores(self, scores: Scores, target: Values, lengths: Lengths) -> Loss:
        mean, log_variance = scores.chunk(2, dim=2)
        standardized = (target - mean) * (-0.5 * log_variance).exp()  # squared last: e^{−s} overflows twice as early
        return self.sum_losses(0.5 * (math.log(2 * math.pi) + log_variance + standardized.square()), lengths)

    def predict_from_scores(self, scores: Scores, lengths: Lengths) -> Values:
        return mask_padding(scores.chunk(2, dim=2)[0], lengths)

    def moment_scores(
        self, mean: Float[Tensor, " outputs"], variance: Float[Tensor, " outputs"]
    ) -> Float[Tensor, " scores"]:
        return torch.cat((mean, torch.where(variance > 0, variance, 1.0).log()))

    def distribution(self, y: Vectors, lengths: Lengths = None) -> Normal:
        """N(μ, σ²) for each value [batch, time, outputs]; N(0, 1) beyond a row's length."""
        lengths = self.check(y, lengths)
        mean, log_variance = mask_padding(self.scores(y, lengths), lengths).chunk(2, dim=2)
        return Normal(mean, (0.5 * log_variance).exp(), validate_args=False)
