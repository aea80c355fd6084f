"""Whether a model that was made again is the same, in lines for people. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tensorplane.cli.commands.lineage.graph import Node
from tensorplane.cli.commands.lineage.record import hardware, split_record
from tensorplane.cli.output import texts
from tensorplane.components.base.plural import number_of

_MAX_NAMES = 5


def differing(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The parts that are not in both with the same content: variables, signatures, files."""
    return [part for part in sorted({*then, *now}) if then.get(part) != now.get(part)]


def identical(then: Node, now: Node) -> str:
    """What is equal to the bit."""
    kinds = Counter(part.partition(" ")[0] for part in then.content)
    parts = " and ".join(number_of(number, kind) for kind, number in sorted(kinds.items(), reverse=True))
    return f"{then.title}: made again as {now.id}, equal to the bit: {parts}"


def lines(then: Node, now: Node) -> list[str]:
    """What differs, and what may be the reason."""
    parts = differing(then.content, now.content)
    what = texts.first_names(parts, _MAX_NAMES)
    first = f"{then.title}: made again as {now.id}, and differs in {len(parts)} of {len(then.content)} parts: {what}"
    return [first, *(f"  {reason}" for reason in _reasons(then.record, now.record))]


def _reasons(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    before, after = then.get("versions", {}), now.get("versions", {})
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield f"{name} was {before.get(name, 'none')}, and is {after.get(name, 'none')}"
    yield from _of_machines(then, now)
    if _versions(then) != _versions(now):
        yield "it has read other versions of its datasets: open them by the same references as then"
    if then.get("steps") != now.get("steps"):
        yield f"it has made {now.get('steps')} steps instead of {then.get('steps')}"
    settings = then.get("settings", {})
    if settings.get("resources", {}).get("gpus"):
        yield "it is trained on GPUs, which are not deterministic unless the program enables op determinism"
    if settings.get("strategy", {}).get("kind") == "parameterServer":
        yield "workers of parameter servers update variables in any order"
    if "seed" not in then:
        yield "its program has no seed: call tensorplane.strategy() or keras.utils.set_random_seed()"


def _of_machines(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """How the machines differ, as far as both records have them."""
    before, after = ({hardware(each) for each in split_record(one)[0].get("machines", ())} for one in (then, now))
    if before and after and before != after:
        yield f"it was made on {' and on '.join(sorted(before))}, and is made on {' and on '.join(sorted(after))}"


def _versions(record: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(str(each.get("dataset")), str(each.get("version"))) for each in record.get("inputs", ())}
