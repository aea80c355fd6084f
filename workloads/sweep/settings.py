"""Settings of a sweep's search: parameters, how their values are chosen, and which trials are stopped early."""

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from tensorplane.components.base.model import Model, NonEmptyStr, refuse_all_but
from tensorplane.workloads.training_job.settings import Variable

MOST_TRIALS = 1000
_LONGEST_NAME = 63


def _check_metric(value: str) -> str:
    if not (value.isidentifier() and value.isascii() and len(value) <= _LONGEST_NAME):
        refuse_all_but("a word of a progress line: letters, digits and _, such as val_loss")
    return value


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Choice = Annotated[NonEmptyStr, BeforeValidator(_text)]
"""One value of a parameter, in one line."""


class Parameter(Model):
    """The values of one parameter: `{low: 1e-4, high: 1e-1, log: true}`, `{low: 1, high: 4, step: 1}`, or
    `{choices: [sgd, adam]}`."""

    low: float | None = None
    """Lowest value. With `high`, a range; without `step`, a continuous one."""
    high: float | None = None
    """Highest value."""
    step: Annotated[float | None, Field(gt=0)] = None
    """Distance between two values. If it, `low` and `high` are whole numbers, the values are whole numbers."""
    log: bool = False
    """Whether values are spread evenly over the range's logarithm, such as those of a learning rate."""
    choices: Annotated[list[Choice], Field(min_length=1)] | None = None
    """The values themselves, instead of a range."""

    @property
    def count(self) -> float:
        """How many values it has; infinite for a continuous range."""
        if self.choices is not None:
            return len(self.choices)
        if self.step is None or self.low is None or self.high is None:
            return math.inf
        # As Optuna counts: floating-point error must not cost the last value.
        return math.floor((self.high - self.low) / self.step + 1e-9) + 1

    def for_controller(self) -> dict[str, Any]:
        """As the controller reads it: whole numbers as integers."""
        if self.choices is not None:
            return {"choices": self.choices}
        values = {"low": self.low, "high": self.high, "step": self.step}
        if self.step is not None and all(value is not None and value.is_integer() for value in values.values()):
            return {key: int(value or 0) for key, value in values.items()}
        return {**values, "log": self.log}


class Asha(Model):
    """Asynchronous successive halving: at certain steps, only the best part of the trials goes on."""

    kind: Literal["asha"]
    min_steps: Annotated[int, Field(ge=1, le=1_000_000_000)]
    """Steps at which trials are compared for the first time."""
    reduction: Annotated[int, Field(ge=2, le=100)] = 3
    """One of this many trials goes on; the next comparison is after this many times the steps."""


class Search(Model):
    """What a sweep tries."""

    parameters: Annotated[dict[Annotated[Variable, Field(max_length=_LONGEST_NAME)], Parameter], Field(min_length=1)]
    """Parameters by the environment variables in which the script finds their values."""
    sampler: Literal["grid", "random", "tpe"] = "tpe"
    """How values are chosen: every combination, at random, or by Optuna's Tree-structured Parzen Estimator from the
    results of earlier trials."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of the choices. With `grid` and `random`, they depend only on it and on the trial's number."""
    trials: Annotated[int | None, Field(ge=1, le=MOST_TRIALS)] = None
    """Number of trials; with `grid` by default one for each combination. More trials continue the same sweep."""
    parallel: Annotated[int, Field(ge=1, le=100)] = 1
    """The most trials whose code runs at once. The next one is queued when the code of one has succeeded."""
    metric: Annotated[str, AfterValidator(_check_metric)] = "loss"
    """The name in the progress lines that `tensorplane.fit` prints. The best value of a trial counts."""
    direction: Literal["minimize", "maximize"] = "minimize"
    """Whether a lower or a higher metric is better."""
    pruner: Asha | None = None
    """Which trials are stopped early: `{kind: asha, minSteps: 100, reduction: 3}`; none by default."""

    @property
    def combinations(self) -> float:
        """Number of combinations of the parameters' values; infinite with a continuous range."""
        return math.prod(parameter.count for parameter in self.parameters.values())

    @property
    def count(self) -> int:
        """Number of trials. The checks refuse settings that leave it open."""
        if self.trials is None and math.isinf(self.combinations):
            raise ValueError("the number of trials is unknown: the checks refuse that")
        return self.trials or int(self.combinations)

    def for_controller(self) -> dict[str, Any]:
        """As the controller reads it."""
        parameters = {name: parameter.for_controller() for name, parameter in self.parameters.items()}
        plain = self.model_dump(by_alias=True, exclude={"parameters", "trials"})
        return {**plain, "parameters": parameters, "trials": self.count}

    @property
    def decisive(self) -> dict[str, Any]:
        """The part that decides the trials; a sweep can get more of them, and at once."""
        return {key: value for key, value in self.for_controller().items() if key not in ("trials", "parallel")}
