"""Real values at each step: regression, forecasts."""

import math

from jaxtyping import Float
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

    def sum_losses(self, losses: Values, lengths: Lengths) -> Loss:
        return Loss(mask_padding(losses, lengths).sum(), count_steps(losses, lengths) * self.outputs)


class SquaredError(RegressionHead):
    """The mean of the target: ŷ_t = W y_t + b.

        loss = Σ_t Σ_o (target_to − ŷ_to)²            over valid steps; count: their values, so that the mean is the MSE

    `predict` returns ŷ, zero beyond a row's length.

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
    with `.icdf`.

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

    def distribution(self, y: Vectors, lengths: Lengths = None) -> Normal:
        """N(μ, σ²) for each value [batch, time, outputs]; N(0, 1) beyond a row's length."""
        lengths = self.check(y, lengths)
        mean, log_variance = mask_padding(self.scores(y, lengths), lengths).chunk(2, dim=2)
        return Normal(mean, (0.5 * log_variance).exp(), validate_args=False)
