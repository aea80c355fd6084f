"""What a version records of its origin, in lines for people; entries of another form than the documented one. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tensorplane.cli.commands.lineage.graph import ID_DIGITS, Node
from tensorplane.components.base import quantities
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import legible


def lines(node: Node) -> list[str]:
    """The lines of a node: what it is and when it was made, by what, and how."""
    if node.problem:
        return [node.problem]
    known, others = split_record(node.record)
    origin = _of_commit(node) if node.kind == "dataset" else _of_model(node)
    made = [*origin, *_by_what(known), *_machines(known), *_how(known)]
    return [legible(line) for line in [*made, *(f"{key} {value}" for key, value in others.items())]]


def _of_commit(node: Node) -> Iterator[str]:
    commit = node.commit
    when = datetime.fromtimestamp(commit["time"], UTC).strftime("%Y-%m-%d %H:%M:%S")
    author = f" by {commit['author']}" if commit["author"] else ""
    about = f": {commit['message']}" if commit["message"] else ""
    yield f"{number_of(commit['files'], 'file')}, {quantities.size(commit['size'])}"
    yield f"committed {when} UTC{author}"
    yield f"commit {commit['id'][:ID_DIGITS]}{about}"
    if before := commit.get("rollback"):
        yield f"rolled back to commit {before[:ID_DIGITS]}"
    if not node.is_kept:
        yield "its files were deleted by the retention"


def _of_model(node: Node) -> Iterator[str]:
    if when := node.record.get("published"):
        yield f"published {_time(when)}"
    if not node.record:
        yield "has no record: it was not published by tensorplane"


def _by_what(record: Mapping[str, Any]) -> Iterator[str]:
    """Which program made it."""
    names = [f"{word} {record[word]}" for word in ("run", "job", "pipeline", "stage") if record.get(word)]
    if names:
        yield ", ".join(names)
    if image := record.get("image"):
        yield f"image {image}"
    if code := record.get("code"):
        digests = code if isinstance(code, list) else [code]
        yield f"code {', '.join(str(each).removeprefix('code-') for each in digests)}"
    if command := record.get("command") or record.get("settings", {}).get("command"):
        yield f"command {shlex.join(map(str, command)) if isinstance(command, list) else command}"
    if server := record.get("publish"):
        yield f"published to {server}"
    if before := record.get("reproduces"):
        yield f"made again from {before.get('model')}@{before.get('version')}"


def _machines(record: Mapping[str, Any]) -> Iterator[str]:
    """When it was begun, on which machines, and how often that was interrupted."""
    if started := record.get("started"):
        yield f"started {_time(started)}"
    nodes: dict[str, list[str]] = {}
    for machine in record.get("machines", ()):
        nodes.setdefault(hardware(machine), []).append(str(machine.get("node", "")))
    for words, several in nodes.items():
        names = ", ".join(sorted({*several} - {""}))
        yield f"on {names}: {words}" if names else f"on {words}"
    if restarts := record.get("restarts", ()):
        last = restarts[-1]
        why = f"{last['after']}{f' of {pod}' if (pod := last.get('pod')) else ''}"
        yield f"restarted {number_of(len(restarts), 'time')}, the last one {_time(last['time'])} after {why}"


def hardware(machine: Mapping[str, Any]) -> str:
    """What a machine of a record is, for people; machines of one kind have the same text."""
    devices: dict[tuple[str, ...], int] = {}
    for each in machine.get("accelerators", ()):
        about = [f"{word} {each[key]}" for key, word in (("driver", "driver"), ("cuda", "CUDA")) if each.get(key)]
        kind = (str(each.get("name", "accelerator")), *about)
        devices[kind] = devices.get(kind, 0) + 1
    found = [f"{number} {', '.join(kind)}" for kind, number in sorted(devices.items())]
    found += [str(machine["processor"])] if machine.get("processor") else []
    return ", ".join([*found, *([f"kernel {machine['kernel']}"] if machine.get("kernel") else [])])


def _time(text: str) -> str:
    return f"{text.replace('T', ' ').removesuffix('Z')} UTC"


def _how(record: Mapping[str, Any]) -> Iterator[str]:
    """With which parameters, and how far."""
    settings = record.get("settings", {})
    if params := {**_texts(settings.get("env", {})), **record.get("params", {})}:
        yield f"params {_pairs(params)}"
    if strategy := settings.get("strategy"):
        others = {key: value for key, value in strategy.items() if key != "kind"}
        yield f"strategy {strategy['kind']}{f' {_pairs(others)}' if others else ''}"
    if parts := record.get("parts"):
        words = ("done", "skipped", "failed", "left_out")
        done = ", ".join(f"{parts[word]} {word.replace('_', ' ')}" for word in words if parts.get(word))
        yield f"{number_of(parts['parts'], 'part')}{f': {done}' if done else ''}"
    if "seed" in record:
        yield f"seed {record['seed']}"
    if record.get("steps") is not None:
        yield f"{number_of(record['steps'], 'step')}{_metrics(record)}"
    elif record.get("metrics"):
        yield _metrics(record).removeprefix(", ")
    if volumes := record.get("data", {}).get("volumes"):
        yield f"volumes {', '.join(sorted(volumes))}"
    if streams := record.get("data", {}).get("streams"):
        yield f"streams {', '.join(sorted(streams))}"
    if versions := record.get("versions"):
        yield ", ".join(f"{name} {version}" for name, version in versions.items())


def _texts(env: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in env.items() if isinstance(value, str)}


def _metrics(record: Mapping[str, Any]) -> str:
    return "".join(f", {name} {_amount(value)}" for name, value in sorted(record.get("metrics", {}).items()))


def _amount(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else f"{value}"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


_MAPS = ("data", "metrics", "params", "parts", "reproduces", "settings", "versions")
_COLLECTIONS = ("volumes", "streams")


def split_record(record: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The entries that are as the library's `lineage.py` documents them, and the others, without those that say
    nothing.
    """
    known = {key: value for key, value in record.items() if _is_documented(key, value)}
    return known, {key: value for key, value in record.items() if key not in known and value is not None}


def _is_documented(key: str, value: Any) -> bool:
    if key in _MAPS and not isinstance(value, Mapping):
        return False
    if key == "settings":
        strategy = value.get("strategy", {"kind": ""})
        return isinstance(value.get("env", {}), Mapping) and isinstance(strategy, Mapping) and "kind" in strategy
    if key == "data":
        return all(isinstance(value.get(each, ()), Collection) for each in _COLLECTIONS)
    if key == "machines":
        return _are_maps(value) and all(_are_maps(each.get("accelerators", [])) for each in value)
    if key == "restarts":
        return _are_maps(value) and all({"time", "after"} <= set(each) for each in value)
    if key == "started":
        return _is_time(value)
    if key == "parts":
        return "parts" in value and all(isinstance(count, int) for count in value.values())
    return key != "steps" or isinstance(value, int)


def _are_maps(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) for each in value)


def _is_time(value: Any) -> bool:
    try:
        datetime.fromisoformat(str(value))
    except ValueError:
        return False
    return True
