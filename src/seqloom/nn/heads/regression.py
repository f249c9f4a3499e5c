"""Real values at each position: regression, forecasts."""

import math

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.distributions import Normal

from seqloom.kernels.masks import mask_padding
from seqloom.nn.heads.head import Loss, StepHead, real_steps, value_target
from seqloom.nn.validation import check_count


class RegressionHead(StepHead):
    """A head whose target is `outputs` real values a step; a loss counts values, so that its mean is one value's."""

    def __init__(self, size: int, outputs: int, *, scores: int) -> None:
        check_count(type(self).__name__, "outputs", outputs)
        super().__init__(nn.Linear(size, scores))
        self.outputs = outputs

    def check_target(
        self, where: str, target: Tensor, scores: Float[Tensor, "*steps scores"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "*steps outputs"]:
        return value_target(where, target, self.outputs, scores, lengths)

    def sum_up(self, each: Float[Tensor, "batch time outputs"], lengths: Int[Tensor, " batch"] | None) -> Loss:
        """The loss from that of each value."""
        return Loss(mask_padding(each, lengths).sum(), real_steps(each, lengths) * self.outputs)


class SquaredError(RegressionHead):
    """The mean of what may come: ŷ_t = W y_t + b.

        loss = Σ_t Σ_o (target_to − ŷ_to)²            over real steps; count: their values, so that the mean is the MSE

    `predict` gives ŷ, zero beyond a row's length.

    >>> head = SquaredError(4, outputs=2)
    >>> head.loss(torch.randn(3, 5, 4), torch.zeros(3, 5, 2)).count
    tensor(30)
    """

    def __init__(self, size: int, outputs: int) -> None:
        super().__init__(size, outputs, scores=outputs)

    def measure(
        self,
        scores: Float[Tensor, "batch time outputs"],
        target: Float[Tensor, "batch time outputs"],
        lengths: Int[Tensor, " batch"] | None,
    ) -> Loss:
        return self.sum_up((target - scores).square(), lengths)

    def decide(
        self, scores: Float[Tensor, "batch time outputs"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch time outputs"]:
        return mask_padding(scores, lengths)


class GaussianLikelihood(RegressionHead):
    """The mean of what may come, and how sure it is: [μ_t; s_t] = W y_t + b, s = log σ² (Nix & Weigend 1994).

        loss = Σ_t Σ_o −log N(target_to; μ_to, σ²_to)             over real steps; count: their values
             = Σ_t Σ_o ½ (log 2π + s + (target − μ)² e^{−s})

    `predict` gives μ, zero beyond a row's length; `distribution` gives all of it: μ is `.mean`, σ `.stddev`, and
    quantiles are `.icdf`.

    >>> head = GaussianLikelihood(4, outputs=2)
    >>> y = torch.randn(3, 5, 4)
    >>> head.predict(y).shape, head.distribution(y).stddev.shape
    (torch.Size([3, 5, 2]), torch.Size([3, 5, 2]))
    """

    def __init__(self, size: int, outputs: int) -> None:
        super().__init__(size, outputs, scores=2 * outputs)

    def measure(
        self,
        scores: Float[Tensor, "batch time scores"],
        target: Float[Tensor, "batch time outputs"],
        lengths: Int[Tensor, " batch"] | None,
    ) -> Loss:
        mean, log_variance = scores.chunk(2, dim=2)
        standard = (target - mean) * (-0.5 * log_variance).exp()  # squared after: e^{−s} alone overflows twice as early
        return self.sum_up(0.5 * (math.log(2 * math.pi) + log_variance + standard.square()), lengths)

    def decide(
        self, scores: Float[Tensor, "batch time scores"], lengths: Int[Tensor, " batch"] | None
    ) -> Float[Tensor, "batch time outputs"]:
        return mask_padding(scores.chunk(2, dim=2)[0], lengths)

    def distribution(self, y: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"] | None = None) -> Normal:
        """N(μ, σ²) for each value [batch, time, outputs]; N(0, 1) beyond a row's length."""
        lengths = self.check(y, lengths)
        mean, log_variance = mask_padding(self.scores(y, lengths), lengths).chunk(2, dim=2)
        return Normal(mean, (0.5 * log_variance).exp(), validate_args=False)
