"""Changes of components in the words of a review, from what the components register."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from tensorplane.cli.commands.preview import cost_notes, gates, property_path
from tensorplane.cli.commands.preview.kinds import KIND_NAMES
from tensorplane.cli.commands.preview.report import OURS, Outputs, Report
from tensorplane.cli.output.numbers import change
from tensorplane.cli.output.texts import bold
from tensorplane.components.base import outputs
from tensorplane.components.base.plural import number_of

_UNITS = {
    "backend": "backend",
    "pods": "pods",
    "cpus": "cores",
    "gpus": "GPUs",
    "memoryGib": "GiB of memory",
    "parallel": "trials at a time",
    "priority": "priority",
    "queue": "queue",
    "replicas": "replicas at most",
    "sizeGib": "GiB",
    "strategy": "strategy",
    "trials": "trials",
    "version": "version",
}
"""Outputs that a line names, by key."""
_SIZES = {"memoryGib": "memory", "sizeGib": "size"}
"""Outputs in GiB, as a line about their change names them."""
_OF_ALL_PODS = ("cpus", "gpus", "memoryGib")


def lines(report: Report) -> list[str]:
    """A line for each component that comes, goes or changes; what goes comes first within its kind."""
    return [line for token in KIND_NAMES for line in _of_kind(token, report)]


def _of_kind(token: str, report: Report) -> Iterator[str]:
    found = sorted(report.registered(token.removeprefix(OURS)).items())
    kind, describe = KIND_NAMES[token], _DESCRIBERS.get(token, _describe)
    for name, (old, new) in found:
        if old and not new:
            end = _ended(describe(old, {}))
            only_if = ", once it is no longer protected" if _protected(old) else ""
            yield f"{kind} {bold(name)} is deleted{end}{only_if}{_renamed(token, old, found)}"
    for name, (old, new) in found:
        if new and not old:
            yield f"new {kind} {bold(name)}{_ended(describe({}, new))}"
        elif old and new and old != new and (text := describe(old, new)):
            yield f"{kind} {bold(name)}: {text}"


def _protected(old: Outputs) -> bool:
    return bool(old.get("retain") or old.get("protect"))


def _ended(text: str) -> str:
    return f": {text}" if text else ""


def _renamed(token: str, old: Outputs, found: list[tuple[str, tuple[Outputs, Outputs]]]) -> str:
    """A hint at a component with the same settings that comes, which a person may take for the same."""
    alike = [name for name, (before, after) in found if not before and after == old]
    if token != outputs.VOLUME or not alike:
        return ""
    return f". New volume {alike[0]} has the same settings, but a rename does not move data"


def _describe(old: Outputs, new: Outputs) -> str:
    """The outputs that differ; of what comes or goes, all of them."""
    if not (old and new):
        amounts = dict(_amounts(new or old))
        return ", ".join(f"{_value(value)} {_UNITS[key]}" for key, value in amounts.items()) + _together(
            amounts, amounts
        )
    keys = [key for key in _UNITS if old.get(key) != new.get(key)]
    changes = ", ".join(_from_to(key, _value(old.get(key)), _value(new.get(key))) for key in keys)
    return changes + _together(new, keys)


def _from_to(key: str, before: str, after: str) -> str:
    if key in _SIZES:
        return f"{_SIZES[key]} {before} → {after} GiB"
    return f"{_UNITS[key]} {before} → {after}"


def _training_job(old: Outputs, new: Outputs) -> str:
    """The outputs that differ, and that its queue has the quota for it: the stack refuses other jobs."""
    text = _describe(old, new)
    more = [key for key in _OF_ALL_PODS if old and new and (new.get(key) or 0) > (old.get(key) or 0)]
    return f"{text}; within the quota of queue {new['queue']}" if more and isinstance(new.get("queue"), str) else text


def _together(given: Outputs, keys: Collection[str]) -> str:
    """What the sums are of; empty without sums."""
    pods = given.get("pods")
    several = isinstance(pods, int | float) and pods > 1
    return f" (all {pods:g} pods together)" if several and any(key in keys for key in _OF_ALL_PODS) else ""


def _amounts(given: Outputs) -> Iterator[tuple[str, Any]]:
    return ((key, given[key]) for key in _UNITS if isinstance(given.get(key), int | float) and given[key])


def _value(value: Any) -> str:
    if value is None:
        return "none"
    # Secret and unknown values as such.
    return f"{value:,.12g}" if isinstance(value, int | float) else property_path.text(value).strip('"')


def _node_group(old: Outputs, new: Outputs) -> str:
    """`4 more nodes at most (4 → 8): 32 more h100-80gb, +$220.16/h at most`."""
    parts = list(_nodes(old, new))
    before, after = (group.get("hourlyUsdMax") if group else 0.0 for group in (old, new))
    if before is None or after is None:
        parts.append("price unknown")
    elif before != after:
        spot = " (spot price)" if cost_notes.basis(old, new) == "spot" else ""
        parts.append(f"{change(after - before)}/h at most{spot}")
    return ", ".join(parts)


def _nodes(old: Outputs, new: Outputs) -> Iterator[str]:
    if not (old and new):
        group, sign = (new, "more") if new else (old, "fewer")
        yield f"{number_of(int(group['maxNodes']), f'{sign} node')} at most ({_machine(group)})"
        return
    if _machine(old) != _machine(new):
        yield f"{_machine(old)} → {_machine(new)}"
    for key, word in (("maxNodes", "at most"), ("minNodes", "always running")):
        before, after = int(old[key]), int(new[key])
        if before != after:
            rise = "more" if after > before else "fewer"
            yield f"{number_of(abs(after - before), f'{rise} {_accelerator(new)}node')} {word} ({before} → {after})"
    if old["spot"] != new["spot"]:
        yield "on spot nodes, which the cloud can take back" if new["spot"] else "no longer on spot nodes"


def _accelerator(group: Outputs) -> str:
    return "" if group["accelerator"] == "none" else f"{group['accelerator']} "


def _machine(group: Outputs) -> str:
    count, nodes = group["gpusMax"] + group["tpusMax"], group["maxNodes"]
    each = f"{int(count // nodes)} {group['accelerator']} each" if nodes and count else ""
    return ", ".join(filter(None, (group.get("machine") or "", each))) or "any machine"


def _queue(old: Outputs, new: Outputs) -> str:
    most = {flavor["name"]: flavor["max"] for flavor in (new or old).get("machines", ())}
    parts = []
    for key in ("guaranteed", "borrowable"):
        for flavor, before, after in _flavors(old, new, key):
            of = f" of {most[flavor]:g}" if after and most.get(flavor) else ""
            parts.append(f"{key} {flavor} {before:g} → {after:g}{of}")
    for key, word in (("cpus", "cores"), ("memoryGib", "GiB of memory")):
        before, after = (queue.get(key) or 0 for queue in (old, new))
        if before != after:
            parts.append(f"guaranteed {word} {_value(before)} → {_value(after)}")
    if old and new and old["priority"] != new["priority"]:
        parts.append(f"priority {old['priority']} → {new['priority']}")
    had, have = (", ".join(queue.get("teams") or ()) for queue in (old, new))
    if old and new and had != have:
        parts.append(f"teams {had or 'none'} → {have or 'none'}")
    elif parts and (teams := have or had):
        parts.append(f"teams {teams}")
    return ", ".join(parts)


def _flavors(old: Outputs, new: Outputs, key: str) -> Iterator[tuple[str, float, float]]:
    """Flavors of which a queue has more or less GPUs than before."""
    counts = [{one["name"]: float(one[key]) for one in queue.get("kinds", ())} for queue in (old, new)]
    gpus = {one["name"] for queue in (old, new) for one in queue.get("machines", ()) if one["gpus"]}
    for flavor in dict.fromkeys([*counts[0], *counts[1]]):
        before, after = (count.get(flavor, 0.0) for count in counts)
        if before != after and flavor in gpus:
            yield flavor, before, after


def _server(old: Outputs, new: Outputs) -> str:
    serves: tuple[Mapping[str, str], ...] = tuple(server.get("serves") or {} for server in (old, new))
    parts = []
    for model in dict.fromkeys([*serves[0], *serves[1]]):
        before, after = (each.get(model, "").split("; ") for each in serves)
        less, more = ([part for part in one if part not in other] for one, other in ((before, after), (after, before)))
        if less or more:
            both = " → ".join(filter(None, ("; ".join(less), "; ".join(more))))
            gated = ", which a new version must meet before it gets all requests" if gates.has_gate(more) else ""
            parts.append(f"serves {model}: {both}{gated}{gates.change(before, after)}")
    return "; ".join(filter(None, (*parts, _describe(old, new))))


def _volume(old: Outputs, new: Outputs) -> str:
    parts = [_describe(old, new)]
    if old and new and old.get("retain") != new.get("retain"):
        later = "refuses its deletion" if new.get("retain") else "no longer refuses it: a later update may delete it"
        sides = " → ".join(str(bool(side.get("retain"))).lower() for side in (old, new))
        parts.append(f"retain {sides}: Pulumi (protect: {sides}) {later}")
    return ", ".join(filter(None, parts))


_DESCRIBERS: Mapping[str, Callable[[Any, Any], str]] = {
    outputs.NODE_GROUP: _node_group,
    outputs.QUEUE: _queue,
    outputs.TRAINING_JOB: _training_job,
    outputs.MODEL_SERVER: _server,
    outputs.VOLUME: _volume,
}
