"""Checks of a sweep: what its sampler cannot choose, what its trials lack, more trials at once than the queue holds."""

import math
from collections.abc import Iterator

from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import Key, Problem
from tensorplane.workloads.family import Declared
from tensorplane.workloads.pods import checks as pods_checks
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.sweep.controller import RUN_SUFFIX
from tensorplane.workloads.sweep.settings import MOST_TRIALS, Parameter, Search
from tensorplane.workloads.training_job import checks as training_job_checks
from tensorplane.workloads.training_job import job_set
from tensorplane.workloads.training_job.settings import JobSettings

TRIAL = "trial"
CONTROLLER = "controller"


def find_problems(search: Search, trial: JobSettings, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Every problem of a sweep. `at`: the path of its settings."""
    within = (*at, TRIAL)
    of_trial = list(training_job_checks.find_problems(trial, name, within, declared))
    yield from of_trial
    longest = job_set.longest_name(trial.roles()) - len(RUN_SUFFIX)
    if longest < len(name) <= longest + len(RUN_SUFFIX):
        reason = f"the name has {len(name)} characters; shorten it to {longest}, so that its trials' pods' names"
        yield Problem(at, f"{reason} stay valid")
    yield from _search(search, (*at, "search"))
    for parameter in sorted(set(search.parameters) & set(trial.env)):
        reason = "is also a parameter of search, which sets this variable; remove one of them"
        yield Problem((*within, "env", parameter), reason, given=((*at, "search", "parameters", parameter),))
    yield from _trial(trial, name, within, declared)
    if not of_trial:
        yield from _parallel(search, trial, at, declared)


def _search(search: Search, at: Key) -> Iterator[Problem]:
    for name, parameter in search.parameters.items():
        path = (*at, "parameters", name)
        found = list(_parameter(parameter, path))
        yield from found
        if not found and search.sampler == "grid" and math.isinf(parameter.count):
            reason = "has a continuous range, and sampler grid tries every value"
            yield Problem(path, f"{reason}; set step or choices, or another sampler", given=((*at, "sampler"),))
    most = search.combinations
    if search.sampler == "grid":
        if search.trials and search.trials > most:
            yield Problem((*at, "trials"), f"is {search.trials}, but the grid has {most:g} combinations; set {most:g}")
        elif search.trials is None and MOST_TRIALS < most < math.inf:
            reason = f"missing, and the grid has {most:,.0f} combinations"
            yield Problem((*at, "trials"), f"{reason}; set at most {MOST_TRIALS}, or larger steps")
    elif search.trials is None:
        yield Problem((*at, "trials"), f"missing, and sampler {search.sampler} has no end of its own; set trials")


def _parameter(parameter: Parameter, at: Key) -> Iterator[Problem]:
    is_range = parameter.low is not None or parameter.high is not None
    if parameter.choices is not None:
        if is_range or parameter.step is not None or parameter.log:
            yield Problem(at, "has choices and a range; remove one of them")
        elif len(set(parameter.choices)) < len(parameter.choices):
            yield Problem((*at, "choices"), "has a value twice; remove it")
    elif parameter.low is None or parameter.high is None:
        yield Problem(at, "has neither choices nor a range; set choices, or low and high")
    elif parameter.low >= parameter.high:
        yield Problem(at, f"low is {parameter.low:g} and high is {parameter.high:g}; set a higher high")
    elif parameter.log and parameter.step is not None:
        yield Problem(at, "log and step exclude each other; remove one of them")
    elif parameter.log and parameter.low <= 0:
        yield Problem((*at, "low"), f"is {parameter.low:g}, which has no logarithm; set a number above 0")
    elif parameter.count < 2:
        width = parameter.high - parameter.low
        reason = f"is {parameter.step:g}, more than the range from {parameter.low:g} to {parameter.high:g}"
        yield Problem((*at, "step"), f"{reason}, so {parameter.low:g} is the only value; set {width:g} or less")


def _trial(trial: JobSettings, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
    if trial.on_success and trial.on_success.publish:
        reason = "would publish the model of every trial"
        yield Problem((*at, "onSuccess", "publish"), f"{reason}; remove it, and publish the best one's")
    if trial.checkpoints is None:
        reason = "missing, but the sweep keeps its study and reads its trials' reports there"
        yield Problem((*at, "checkpoints"), f"{reason}; set checkpoints: {{volume: NAME}}")
        return
    volume, path = trial.checkpoints.volume, (*at, "checkpoints", "volume")
    yield from pods_checks.check_access(f"{name}-{CONTROLLER}", volume, path, declared.volumes, read_only=False)
    if (args := declared.volumes.get(volume)) and args.for_one_node(declared.cluster):
        reason = f"only one node can mount volume {volume}, but the controller and the trials run on any"
        yield Problem(path, f"{reason}; use a volume that many nodes can mount", given=(("volumes", volume),))


def _parallel(search: Search, trial: JobSettings, at: Key, declared: Declared) -> Iterator[Problem]:
    """More trials at once than the queue may ever admit."""
    capacity, pods = declared.capacities.get(trial.queue or ""), pod_sets.of(trial)
    if capacity is None or capacity.fit_together(pods * search.parallel):
        return
    most = next(count for count in range(search.parallel - 1, 0, -1) if capacity.fit_together(pods * count))
    reason = f"is {search.parallel}, but queue {capacity.queue} holds at most {number_of(most, 'trial')} at once"
    given = ((*at, TRIAL, "resources"), (*at, TRIAL, "strategy"), ("queues",), ("nodeGroups",))
    yield Problem((*at, "search", "parallel"), f"{reason}; set {most}, or raise the quota", given=given)
