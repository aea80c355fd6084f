"""The fleet's own ceilings: what all node groups together may have and cost, full and idle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gpu_usage import embedded
from stack_view import amounts, node_groups
from stack_view.node_groups import Group
from stack_view.rule import Config, Finding, Rule, Severity
from stack_view.schemas import Schema, counts, number
from stack_view.view import Resource, View

_GPUS = 100
_PRICES: Schema = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}, "default": {}}
"""Dollars per hour of a machine, by its type: of node groups that a program makes beside tensorplane's."""


def _gpus(view: View, config: Config) -> Iterator[tuple[Resource | None, Finding]]:
    by_group: Counter[str] = Counter()
    by_accelerator: Counter[str] = Counter()
    is_unlimited = "maxGpus" not in config and embedded.home(view) is not None
    for each in node_groups.of(view, config["machines"]):
        if not isinstance(each, Group):
            yield each
            continue
        by_accelerator[each.accelerator] += each.gpus
        if each.is_of_cloud or not is_unlimited:
            by_group[each.name] += each.gpus
    most = config.get("maxGpus", _GPUS)
    if by_group.total() > most:
        problem = f"the node groups have {by_group.total()} accelerators when they are full"
        remedy = f"lower `max` of a group, or raise maxGpus in {view.config}"
        yield (
            None,
            Finding(
                problem, f"allowed are {most:.12g} ({amounts.largest_first(by_group)}): {remedy}", by_group.total()
            ),
        )
    for accelerator, found in sorted(by_accelerator.items()):
        limits = config["byAccelerator"]
        if limits and found > (limit := limits.get(accelerator, limits.get("*", 0))):
            problem = f"the node groups have {found} {accelerator} when they are full"
            remedy = f"lower `max` of a group, or raise byAccelerator.{accelerator} in {view.config}"
            yield None, Finding(problem, f"allowed are {limit:.12g}: {remedy}", found)


def _cost(view: View, config: Config) -> Iterator[tuple[Resource | None, Finding]]:
    yield from _priced(view, "when they are full", config, {each.name: 1 for each in _groups(view)})


def _idle(view: View, config: Config) -> Iterator[tuple[Resource | None, Finding]]:
    share = {each.name: each.smallest / each.largest for each in _groups(view) if each.largest}
    yield from _priced(view, "while nothing runs", config, share)


def _groups(view: View) -> list[Group]:
    return node_groups.groups(view)


def _priced(
    view: View, when: str, config: Config, share: dict[str, float]
) -> Iterator[tuple[Resource | None, Finding]]:
    """Findings about prices. A rented machine without a price fails closed."""
    most, usd = config["maxHourlyUsd"], dict[str, float]()
    for each in _groups(view):
        price = _usd(each, config["machines"])
        if price is not None:
            usd[each.name] = price * share.get(each.name, 0)
        elif share.get(each.name) and _is_rented(each, view):
            yield each.resource, Finding("its price per hour is not known, so it has no ceiling", _remedy(each, view))
    total = sum(usd.values())
    if total > most:
        rounded = {name: round(price, 2) for name, price in usd.items()}
        remedy = f"choose fewer or cheaper machines, or raise maxHourlyUsd in {view.config}"
        problem = f"the node groups cost about {total:.2f} USD per hour {when}"
        yield None, Finding(problem, f"allowed are {most:.12g} ({amounts.largest_first(rounded)}): {remedy}", total)


def _usd(group: Group, machines: Mapping[str, float]) -> float | None:
    """The price of the full group per hour, of its dearest machine if the configuration states that of each."""
    stated = [machines[each] for each in group.machines if each in machines]
    return group.largest * max(stated) if stated and len(stated) == len(group.machines) else group.usd


def _is_rented(group: Group, view: View) -> bool:
    """Whether a cloud bills its machines by the hour. A component that only says so makes them nobody's own."""
    return group.is_of_cloud or (view.cluster != "existing" and embedded.home(view) is None)


def _remedy(group: Group, view: View) -> str:
    if not group.is_of_cloud:
        return "choose a machine and a region of the catalog (`tensorplane catalog`)"
    stated = ", ".join(f'"{each}": …' for each in group.machines)
    return f'state what one machine costs in {view.config}, as "machines": {{{stated}}} next to maxHourlyUsd'


def _spot(view: View, config: Config) -> Iterator[tuple[Resource | None, Finding]]:
    groups = _groups(view)
    total = sum(each.gpus for each in groups)
    if not total:
        return
    on_spot = sum(each.gpus for each in groups if each.spot)
    share = on_spot / total
    remedy = f"change `spot` or `max` of a group, or the limits in {view.config}"
    problem = f"{on_spot} of {total} accelerators are on spot nodes ({share:.0%})"
    if share > config["maxShare"]:
        yield (
            None,
            Finding(problem, f"allowed are at most {config['maxShare']:.0%}, for the cloud may take them: {remedy}"),
        )
    if share < config["minShare"]:
        yield None, Finding(problem, f"required are at least {config['minShare']:.0%}, which cost less: {remedy}")


_TAGS = ["fleet", "cost"]

POLICIES = [
    Rule(
        _gpus,
        name="fleet-gpus",
        description="Full node groups have at most `maxGpus` accelerators (default 100), and of each `byAccelerator`.",
        remedy="Lower max of a node group.",
        severity=Severity.HIGH,
        tags=_TAGS,
        config={"maxGpus": {"type": "number", "minimum": 0}, "byAccelerator": counts(), "machines": counts()},
    ),
    Rule(
        _cost,
        name="fleet-cost",
        description="Full node groups cost at most `maxHourlyUsd` per hour; a rented machine has a known price.",
        remedy="Choose fewer or cheaper machines.",
        severity=Severity.HIGH,
        tags=_TAGS,
        config={"maxHourlyUsd": number(100), "machines": _PRICES},
    ),
    Rule(
        _idle,
        name="fleet-idle-cost",
        description="The nodes that always run (`min`) cost at most `maxHourlyUsd` per hour.",
        remedy="Lower min of a node group.",
        severity=Severity.MEDIUM,
        tags=_TAGS,
        config={"maxHourlyUsd": number(10), "machines": _PRICES},
    ),
    Rule(
        _spot,
        name="fleet-spot-share",
        description="The share of accelerators on spot nodes is between `minShare` and `maxShare`.",
        remedy="Change spot or max of a node group.",
        severity=Severity.LOW,
        tags=[*_TAGS, "spot"],
        config={"minShare": number(0), "maxShare": number(1)},
    ),
]
