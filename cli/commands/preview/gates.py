"""Whether a change weakens or removes the gate of a model server's canary, from what the server registers in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.output.texts import bold

_GATE = re.compile(r"(?P<metric>\w+) at (?P<sign>most|least) (?P<threshold>\S+)(?: after (?P<requests>\d+) requests)?$")
_CANARY = re.compile(r"canary of (?P<percent>\d+) %")
_NAMED_VERSIONS = re.compile(r"versions? (?P<numbers>[\d, ]*\d)")
"""Versions that the settings name: pinned, or by `versions`."""
_SHARES = {"errorRate": "of the canary's requests may fail", "accuracy": "of the held-out examples must be right"}
"""Metrics from 0 to 1, and what their threshold means."""
_UNITS = {"latencyP99Millis": "ms for 99 % of the canary's requests"}


@dataclass(frozen=True)
class _Gate:
    metric: str
    most: bool
    """Whether the threshold is the most that is allowed; else, the least."""
    threshold: float
    requests: int

    @property
    def shown(self) -> str:
        """The threshold for people."""
        return f"{self.threshold * 100:g} %" if self.metric in _SHARES else f"{self.threshold:g}"


def change(before: Sequence[str], after: Sequence[str]) -> str:
    """A sentence about what differs; empty without a gate before. The parts of `serves`, before and after."""
    if removed := _removed(before, after):
        return f". {bold('No gate any more')}: {removed}"
    weaker, stricter = (_ways(before, after, way) for way in ("weaker", "stricter"))
    both = (("Weaker gate", weaker), ("Stricter gate", stricter))
    found = [f"{bold(what)}: {', '.join(texts)}" for what, texts in both if texts]
    return f". {'. '.join([*found, *_effects(after)])}" if found else ""


def has_gate(parts: Sequence[str]) -> bool:
    """Whether one of the parts of `serves` is a gate."""
    return bool(_gates(parts))


def weakened(report: Report) -> Iterator[str]:
    """A part of a sentence for each model whose gate becomes weaker or is removed, with what that lets through."""
    for name, (old, new) in sorted(report.registered("ModelServer").items()):
        before, after = (server.get("serves") or {} for server in (old, new))
        for model in sorted({*before, *after}):
            was, now = before.get(model, "").split("; "), after.get(model, "").split("; ")
            if removed := _removed(was, now):
                yield f"the gate of {name} for {model} (removed): {removed}"
            elif texts := _ways(was, now, "weaker"):
                share = _share(now)
                live = f"get {share} % of live requests again and, if they pass, all" if share else "are tried again"
                yield f"the gate of {name} for {model} ({', '.join(texts)}): versions refused before {live}"


def _removed(before: Sequence[str], after: Sequence[str]) -> str:
    """Which versions get all requests without being tried; empty if a gate stays, or if the model is not served."""
    if has_gate(after) or not (has_gate(before) and after[0]):
        return ""
    if versions := _NAMED_VERSIONS.match(after[0]):
        gets, it = ("gets", "it") if versions["numbers"].isdecimal() else ("get", "them")
        return f"{versions[0]} {gets} all requests at once, even if the gate refused {it}"
    return (
        "the newest version gets all requests at once, even if the gate refused it, and each later one as soon as it is"
        " published, untried"
    )


def _ways(before: Sequence[str], after: Sequence[str], way: str) -> list[str]:
    """What is `weaker`, or `stricter`, than before; nothing without a gate on both sides."""
    if not (has_gate(before) and has_gate(after)):
        return []
    found = (*_compared_shares(_share(before), _share(after)), *_compared(_gates(before), _gates(after)))
    return [text for each, text in found if each == way]


def _share(parts: Sequence[str]) -> str:
    """The canary's share of the requests in percent; empty without a canary."""
    return next((match["percent"] for part in parts if (match := _CANARY.match(part))), "")


def _effects(parts: Sequence[str]) -> Iterator[str]:
    """What the gate decides about, with the canary's share of the requests."""
    if share := _share(parts):
        passes = "a version that passes then gets all of them, and nobody is asked"
        yield f"The canary gets {share} % of all requests; {passes}"
    yield "The gate applies to a running canary too, and versions that the former gate refused are tried again"


def _gates(parts: Sequence[str]) -> Mapping[str, _Gate]:
    found = (match for part in parts if (match := _GATE.match(part)))
    return {
        one["metric"]: _Gate(one["metric"], one["sign"] == "most", float(one["threshold"]), int(one["requests"] or 0))
        for one in found
    }


def _compared_shares(old: str, new: str) -> Iterator[tuple[str, str]]:
    if old and new and old != new:
        way = "weaker" if int(new) > int(old) else "stricter"
        yield way, f"{new} % instead of {old} % of all requests go to versions that have not passed yet"


def _compared(old: Mapping[str, _Gate], new: Mapping[str, _Gate]) -> Iterator[tuple[str, str]]:
    for metric in dict.fromkeys([*old, *new]):
        was, now = old.get(metric), new.get(metric)
        if was is None or now is None:
            yield ("weaker", f"without {metric}") if now is None else ("stricter", f"{metric} too")
            continue
        if was.threshold != now.threshold:
            meaning = _SHARES.get(metric) or _UNITS.get(metric, f"of {metric}")
            looser = (now.threshold > was.threshold) == now.most
            yield "weaker" if looser else "stricter", f"{now.shown} instead of {was.shown} {meaning}"
        if was.requests != now.requests:
            way = "weaker" if now.requests < was.requests else "stricter"
            yield way, f"it decides after {now.requests} requests of the canary instead of {was.requests}"
