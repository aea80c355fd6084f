"""How a model server moves to a new version: a canary beside the stable version, and the gates that decide."""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tensorplane.components.base.model import Model, refuse_all_but
from tensorplane.workloads.pods.mounts import Location

_REQUESTS = 100


Version = Annotated[int, Field(ge=1, lt=2**63)]
"""The number of a version, which is the name of its folder."""


class GateArgs(Model):
    """One condition of a canary: `{metric: errorRate, threshold: 0.01, minRequests: 500}`."""

    metric: Literal["errorRate", "latencyP99Millis", "accuracy"]
    """`errorRate` is the share of the canary's requests that fail, whoever is to blame; `latencyP99Millis` what 99 % of
    its requests stay below; `accuracy` the share of held-out examples whose label it predicts."""
    threshold: Annotated[float, Field(ge=0, le=3_600_000)]
    """The most that is allowed, of `accuracy` the least."""
    min_requests: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    """Requests that the canary must have answered before the gate decides; 100 by default, 0 for `accuracy`."""
    examples: Location | None = None
    """The held-out examples of `accuracy`: a file of JSON lines, `{"instance": …, "label": 3}`."""

    @model_validator(mode="after")
    def _of_accuracy(self) -> Self:
        share = f"{self.threshold / 100:g}" if 1 < self.threshold < 100 else ""
        if self.metric == "accuracy" and not 0 < self.threshold <= 1:
            refuse_all_but("a threshold of accuracy above 0, at most 1", share, at="threshold")
        if self.metric == "errorRate" and self.threshold >= 1:
            refuse_all_but("a threshold of errorRate below 1", share, at="threshold")
        if self.metric == "latencyP99Millis" and not self.threshold:
            refuse_all_but("a threshold of latencyP99Millis above 0", at="threshold")
        if (self.metric == "accuracy") != (self.examples is not None):
            refuse_all_but("examples with the metric accuracy, and with no other")
        return self

    @property
    def least_requests(self) -> int:
        """`min_requests` with its default."""
        default = 0 if self.metric == "accuracy" else _REQUESTS
        return default if self.min_requests is None else self.min_requests


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


class CanaryArgs(Model):
    """A version is tried by a part of the replicas, and served by all of them once it passes its gates. One that fails
    is not tried again until these settings change."""

    version: Version | None = None
    """The only version that is tried; by default each version that is published."""
    percent: Annotated[int, Field(ge=1, le=99)] = 10
    """The canary's part of the requests, in percent. The routes of a gateway divide its requests exactly; all others
    are divided by shares of replicas, so the part is rounded to whole replicas, at least one."""
    gate: Annotated[list[GateArgs], BeforeValidator(_as_list), Field(min_length=1)]
    """The condition on which the version is promoted, or several, which must all hold."""
    deadline_seconds: Annotated[int, Field(ge=10, le=100_000_000)] = 86400
    """A canary without a verdict is rolled back after that; a day by default."""

    def replicas(self, all_replicas: int, *, by_route: bool = False) -> int:
        """How many canary pods there are: a part of the replicas, or one more where there is only one.

        `by_route`: whether a gateway's routes divide the requests; the canary then has enough pods for its part.
        """
        part = all_replicas * self.percent / 100
        return math.ceil(part) if by_route else min(max(1, round(part)), max(1, all_replicas - 1))
