"""Versions and what they were made from, followed backwards over the stack's volumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tensorplane.cli.commands.lineage import version_paths
from tensorplane.cli.commands.lineage.version_paths import VersionPath
from tensorplane.cli.commands.lineage.volumes import Volumes
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack
from tensorplane.stack_file.nearest import did_you_mean

ID_DIGITS = 12
"""Digits of ids that people read."""
_MOST_VERSIONS = 1000
"""Versions of one answer: a longer history is not for a terminal."""


@dataclass(frozen=True)
class Node:
    """A version, or an input that cannot be found."""

    kind: str
    """dataset or model; empty if it was not found."""
    name: str
    location: str
    """The folder of its versions, VOLUME:/PATH; empty if the stack has none of its name."""
    version: str
    record: Mapping[str, Any] = field(default_factory=dict)
    """What it says of its origin, as the library's `lineage.py` documents."""
    commit: Mapping[str, Any] = field(default_factory=dict)
    """Of a dataset, without its provenance. `rollback`: the commit whose files it made the newest again."""
    is_kept: bool = True
    """Whether the files of a dataset's version are still there."""
    problem: str = ""
    """Why nothing is known of it."""
    inputs: tuple[str, ...] = ()
    """Ids of the nodes that it was made from."""
    code: str = ""
    """The archive of a model's files in base64, if it was asked for."""
    content: Mapping[str, str] = field(default_factory=dict)
    """Digests of what a model contains, if they were asked for."""

    @property
    def id(self) -> str:
        """Its identity in the graph."""
        return f"{self.location or self.name}@{self.version}"

    @property
    def title(self) -> str:
        """It, for people."""
        return f"{self.name}@{self.version[:ID_DIGITS]}"


@dataclass(frozen=True)
class Graph:
    """A version with all that it comes from."""

    target: str
    """The id of the node that was asked for."""
    nodes: Mapping[str, Node]
    """By id; the target first, then what it was made from, and so on."""

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())


def of(target: VersionPath, resolved: ResolvedStack, volumes: Volumes) -> Graph:
    """The graph of a version. A UserError if there is no such version."""
    first = get_node(target, volumes)
    found: dict[str, Node] = {}
    level = [first]
    while level and len(found) < _MOST_VERSIONS:
        sources: dict[str, list[VersionPath | Node]] = {}
        for node in level:
            sources[node.id] = [source(each, resolved) for each in _inputs(node.record)]
        wanted = list(
            dict.fromkeys(each for several in sources.values() for each in several if isinstance(each, VersionPath))
        )
        answers = dict(zip(wanted, read(wanted, volumes), strict=True))
        below = {
            one: [answers[each] if isinstance(each, VersionPath) else each for each in several]
            for one, several in sources.items()
        }
        for node in level:
            inputs = tuple(dict.fromkeys(each.id for each in below[node.id]))
            found[node.id] = replace(node, inputs=inputs)
        level = list({each.id: each for several in below.values() for each in several if each.id not in found}.values())
    return Graph(first.id, found)


def _inputs(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The versions that a record names. A program may have written anything else there."""
    found = record.get("inputs")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def get_node(target: VersionPath, volumes: Volumes, *, code: bool = False) -> Node:
    """The version that an argument names. A UserError if there is none."""
    (found,) = read([target], volumes, code=code)
    if found.problem:
        raise UserError(f"{target.name}{f'@{target.reference}' if target.reference else ''}: {found.problem}")
    return found


def source(each: Mapping[str, Any], resolved: ResolvedStack) -> VersionPath | Node:
    """What an entry of a record's `inputs` names; a node with the problem if that is nothing of the stack."""
    if found := version_paths.from_record(each, resolved):
        return found
    name = str(each.get("dataset") or each.get("model"))
    names = sorted(resolved.config.datasets)
    problem = f"the stack has no such dataset{did_you_mean(name, names)}"
    return Node("", name, "", str(each.get("version", "")), problem=problem)


def read(wanted: Sequence[VersionPath], volumes: Volumes, *, code: bool = False) -> list[Node]:
    """What volumes say of these versions; each volume is asked once.

    `code`: with what it takes to make models again.
    """
    answers: dict[VersionPath, Node] = {}
    for volume in dict.fromkeys(each.volume for each in wanted):
        requested = [each for each in wanted if each.volume == volume]
        try:
            found = volumes.ask(
                volume, [{"path": each.path, "reference": each.reference, "code": code} for each in requested]
            )
        except UserError as error:
            found = [{"problem": "; ".join(error.lines)} for _ in requested]
        answers.update({each: node(each, answer) for each, answer in zip(requested, found, strict=True)})
    return [answers[each] for each in wanted]


def node(of: VersionPath, answer: Mapping[str, Any]) -> Node:
    """The node of an answer."""
    kind = answer.get("kind", "")
    if problem := answer.get("problem"):
        return Node(kind, of.name, of.folder, of.reference, problem=f"{problem}{_choices(of.reference, answer)}")
    if kind == "dataset":
        commit = dict(answer["commit"])
        record = commit.pop("provenance")
        if _is_rollback(before := record.get("rollback")):
            commit["rollback"], record = before["commit"], before["provenance"]
        return Node(kind, of.name, of.folder, commit["version"], record, commit, is_kept=answer["kept"])
    more = {"code": answer.get("code", ""), "content": answer.get("content", {})}
    return Node(kind, of.name, of.folder, answer["version"], answer["lineage"], **more)


def _is_rollback(entry: object) -> bool:
    """Whether it is of a rollback. A program may have written anything else there."""
    if not isinstance(entry, Mapping):
        return False
    return isinstance(entry.get("commit"), str) and isinstance(entry.get("provenance"), Mapping)


def _choices(reference: str, answer: Mapping[str, Any]) -> str:
    """What there is instead, and the nearest of it."""
    names: Sequence[str] = answer.get("names", ())
    if not names:
        return ""
    near = did_you_mean(reference, names)
    if not near and reference.isdecimal() and all(name.isdecimal() for name in names):
        near = f" (did you mean {min(names, key=lambda name: abs(int(name) - int(reference)))}?)"
    return f"; choose one of {', '.join(names)}{near}"
