"""The study: each trial's parameters and end, in Optuna's journal on the volume, which survives a kill at any point.

A trial is added first and gets its parameters then, one by one. A restarted controller adds those that are missing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial
from optuna.trial import TrialState as OptunaState

from .asha import Report
from .decide import TrialState
from .spec import Value

Space = Mapping[str, BaseDistribution]
_STATES = {
    OptunaState.RUNNING: TrialState.OPEN,
    OptunaState.COMPLETE: TrialState.COMPLETE,
    OptunaState.PRUNED: TrialState.PRUNED,
    OptunaState.FAIL: TrialState.FAILED,
}
_BEST_STEP, _BEST = "best_step", "best"


class Study:
    """The trials of one sweep, by number."""

    def __init__(self, storage: BaseStorage, name: str, search: Mapping[str, Any]) -> None:
        """Opens the study, or begins it. `search`: as in the sweep's settings."""
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = {key: _distribution(given) for key, given in sorted(search["parameters"].items())}
        self._sampler, self._seed = search["sampler"], search["seed"]
        self._study = optuna.create_study(
            storage=storage, study_name=name, direction=search["direction"], load_if_exists=True
        )

    def add(self) -> None:
        """Adds a trial, without parameters."""
        self._study.ask()

    def list_states(self) -> list[TrialState]:
        """The state of each trial."""
        return [_STATES[trial.state] for trial in self._trials()]

    def get_best(self, number: int) -> Report | None:
        """The best report of a trial that has ended; None if it had none."""
        noted = self._trials()[number].user_attrs
        return Report(noted[_BEST_STEP], noted[_BEST]) if _BEST in noted else None

    def get_parameters(self, number: int) -> dict[str, Value]:
        """The parameters of a trial, chosen now if they were not yet."""
        trial = self._trials()[number]
        if trial.state.is_finished() or set(trial.params) == set(self._space):
            return dict(trial.params)
        # Each trial has a sampler of its own, so that its choices do not depend on how many this process made before.
        self._study.sampler = self._sampler_of(number)
        # Optuna has no public way to go on with a trial that another process began.
        begun = optuna.trial.Trial(self._study, trial._trial_id)
        return {name: begun._suggest(name, distribution) for name, distribution in self._space.items()}

    def tell(self, number: int, state: TrialState, best: Report | None) -> None:
        """Records how a trial ended."""
        trial = self._trials()[number]
        if trial.state.is_finished():
            return
        if best:
            begun = optuna.trial.Trial(self._study, trial._trial_id)
            begun.set_user_attr(_BEST_STEP, best.step)
            begun.set_user_attr(_BEST, best.value)
        ends = next(ended for ended, known in _STATES.items() if known is state)
        self._study.tell(number, best.value if best and state is TrialState.COMPLETE else None, ends)

    def _trials(self) -> list[FrozenTrial]:
        return self._study.get_trials(deepcopy=False)

    def _sampler_of(self, number: int) -> BaseSampler:
        if self._sampler == "tpe":
            # `constant_liar`: trials that still run count as bad ones, so that their neighbours are not tried too.
            return TPESampler(seed=random.Random(f"{self._seed}:{number}").getrandbits(32), constant_liar=True)  # noqa: S311
        choose = on_grid(self._space) if self._sampler == "grid" else at_random(self._seed)
        return _ByNumber(choose)


class _ByNumber(BaseSampler):
    """Values that depend only on the number of the trial."""

    def __init__(self, choose: Callable[[int, str, BaseDistribution], Value]) -> None:
        self._choose = choose

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Value:
        return self._choose(trial.number, param_name, param_distribution)


def at_random(seed: int) -> Callable[[int, str, BaseDistribution], Value]:
    """Chooses a value from the seed, the trial's number and the parameter's name."""

    def choose(number: int, name: str, among: BaseDistribution) -> Value:
        # Python keeps the sequence of a seeded generator between versions.
        chance = random.Random(f"{seed}:{number}:{name}").random()  # noqa: S311
        if not isinstance(among, FloatDistribution) or among.step is not None:
            values = points(among)
            return values[int(chance * len(values))]
        if among.log:
            low, high = math.log(among.low), math.log(among.high)
            return min(max(math.exp(low + chance * (high - low)), among.low), among.high)
        return among.low + chance * (among.high - among.low)

    return choose


def on_grid(space: Space) -> Callable[[int, str, BaseDistribution], Value]:
    """Chooses the values of the combination with the trial's number; the last parameter changes first."""
    every = {name: points(among) for name, among in space.items()}

    def choose(number: int, name: str, among: BaseDistribution) -> Value:
        # A number in the mixed radix of the parameters' counts: the list of all combinations may be huge.
        for other in reversed(every):
            number, index = divmod(number, len(every[other]))
            if other == name:
                return every[other][index]
        raise KeyError(name)

    return choose


def points(among: BaseDistribution) -> Sequence[Value]:
    """All values of a parameter that is not continuous."""
    if isinstance(among, CategoricalDistribution):
        return [value for value in among.choices if value is not None]
    if isinstance(among, IntDistribution):
        return range(among.low, among.high + 1, among.step)
    if isinstance(among, FloatDistribution) and among.step is not None:
        # Optuna lowers `high` to a multiple of the step above `low`.
        return [among.low + index * among.step for index in range(round((among.high - among.low) / among.step) + 1)]
    raise TypeError(f"{among} is continuous")


def _distribution(given: Mapping[str, Any]) -> BaseDistribution:
    """A parameter's values, as the settings state them."""
    if choices := given.get("choices"):
        return CategoricalDistribution(choices)
    low, high, step = given["low"], given["high"], given.get("step")
    if isinstance(step, int):
        return IntDistribution(low, high, step=step)
    return FloatDistribution(low, high, log=bool(given.get("log")), step=step)
