"""Changes of images in words: those of another registry or repository apart from other tags and digests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from tensorplane.cli.commands.preview import property_path, rows
from tensorplane.cli.commands.preview.kinds import KIND_NAMES
from tensorplane.cli.commands.preview.report import OURS, Outputs, Report
from tensorplane.cli.output.aggregated import Together, names
from tensorplane.cli.output.texts import bold

_LEAST_GROUPED = 4
_MOST_LISTED = 3
"""Versions that a line lists; of others, the number, the lowest and the highest."""


@dataclass(frozen=True)
class _Change:
    kind: str
    name: str
    old: Image
    new: Image

    @property
    def is_known(self) -> bool:
        """Whether both images are known: neither secret, nor chosen by the platform or the update."""
        return bool(self.old.registry and self.new.registry)

    @property
    def moves(self) -> str:
        """`another registry` or `another repository`; empty for another tag or digest of the same."""
        if not self.is_known:
            return ""
        if self.old.registry != self.new.registry:
            return "another registry"
        return "another repository" if self.old.repository != self.new.repository else ""

    @property
    def part(self) -> str:
        """What of the image differs, where it is of the same repository."""
        if not self.is_known:
            return "image"
        if self.old.digest and not self.new.digest:
            return "image, no longer by its digest:"
        if self.new.digest:
            return "image digest"
        is_older = self.old.release and self.new.release and self.new.release < self.old.release
        return bold("older image tag") if is_older else "image tag"


def moved(report: Report) -> list[str]:
    """A line for each image, or many, of another registry, then of another repository, the fewest first."""
    found = [change for change in (*_changes(report), *_of_others(report)) if change.moves]
    found.sort(key=lambda change: change.moves != "another registry")
    return [
        *_lines(found, (_group_key, _from_to, _registries), _moved),
        *_lines(_strangers(report), (_to_registry,), _stranger),
    ]


def versions(report: Report) -> list[str]:
    """A line for each other tag or digest of the same repository, or for many."""
    strangers = set(_strangers(report))
    found = [change for change in _changes(report) if not change.moves and change not in strangers]
    return list(_lines(found, (_to_one, _scheme), _version))


def _changes(report: Report) -> Iterator[_Change]:
    """Of components that stay."""
    for kind, name, old, new in _components(report):
        for before, after in _pairs(old, new) if old and new else ():
            yield _Change(kind, name, image(before), image(after))


def _components(report: Report) -> Iterator[tuple[str, str, Outputs, Outputs]]:
    for token, kind in KIND_NAMES.items():
        for name, (old, new) in sorted(report.registered(token.removeprefix(OURS)).items()):
            yield kind, name, old, new


def _pairs(old: Outputs, new: Outputs) -> Iterator[tuple[object, object]]:
    """The image before and after where it differs; of a pipeline, each new one and one in whose place it may be."""
    if old.get("image") != new.get("image"):
        yield old.get("image"), new.get("image")
    before, after = (found if isinstance(found := side.get("images"), list) else [] for side in (old, new))
    gone = [each for each in before if each not in after]
    for each in after:
        if each not in before:
            gone.sort(key=lambda former: image(former).path != image(each).path)
            yield gone.pop(0) if gone else None, each


def _of_others(report: Report) -> Iterator[_Change]:
    """Of containers that no component names: of the platform, of a job's other containers, of the program's own."""
    others = {(change.old.text, change.new.text) for change in _changes(report)}
    for change in report.changes:
        kind = change.type.rpartition(":")[2]
        for each in change.properties if ":" in change.type else ():
            old, new = each.values
            is_image = each.path.endswith(".image") and old[:1] == new[:1] == '"' and not rows.is_derived(each)
            if is_image and (old.strip('"'), new.strip('"')) not in others:
                yield _Change(kind, change.name, image(old.strip('"')), image(new.strip('"')))


def _strangers(report: Report) -> list[_Change]:
    """Images in nobody's place, of a registry that no component had before; none in a stack without images."""
    known = {image(each).registry for *_, old, _ in _components(report) for _, each in _pairs({}, old)} - {""}
    added = (
        _Change(kind, name, image(None), image(after))
        for kind, name, old, new in _components(report)
        for before, after in _pairs(old, new)
        if before is None
    )
    return [each for each in added if each.new.registry not in {"", *known}] if known else []


Key = Callable[[_Change], tuple[object, ...]]


def _group_key(change: _Change) -> tuple[object, ...]:
    return change.kind, change.old, change.new


def _from_to(change: _Change) -> tuple[object, ...]:
    return change.kind, change.old.repository, change.new.repository


def _registries(change: _Change) -> tuple[object, ...]:
    to = change.new.registry if change.moves == "another registry" else change.new.repository
    return change.kind, change.old.registry, to, change.old.path == change.new.path


def _to_registry(change: _Change) -> tuple[object, ...]:
    return change.kind, change.new.registry


def _to_one(change: _Change) -> tuple[object, ...]:
    return change.kind, change.new, change.part, change.old.scheme


def _scheme(change: _Change) -> tuple[object, ...]:
    return change.kind, change.new.repository, change.part, change.old.scheme, change.new.scheme


def _lines(found: Sequence[_Change], keys: Sequence[Key], line: Callable[[Sequence[_Change]], str]) -> Iterator[str]:
    """A line for each four or more that one of the keys has in common, the narrowest first, and for each other one."""
    many: list[list[_Change]] = []
    rest = list(found)
    for key in keys:
        groups: dict[tuple[object, ...], list[_Change]] = {}
        for change in rest:
            groups.setdefault(key(change), []).append(change)
        many += (group for group in groups.values() if len(group) >= _LEAST_GROUPED)
        rest = list(chain.from_iterable(group for group in groups.values() if len(group) < _LEAST_GROUPED))
    for change in rest:
        yield line([change])
    for group in sorted(many, key=len):
        yield Together(line(group), len(group))


def _moved(found: Sequence[_Change]) -> str:
    one = found[0]
    if len(found) == 1:
        return f"{one.kind} {bold(one.name)}: {bold(f'image from {one.moves}')}: {one.old.text} → {one.new.text}"
    sides = " → ".join(
        _common([side.text for side in both], [side.repository for side in both], [side.registry for side in both])
        for both in ([change.old for change in found], [change.new for change in found])
    )
    return f"{bold(f'image of {_many(found)} from {one.moves}')}: {sides}: {bold(_names(found))}"


def _stranger(found: Sequence[_Change]) -> str:
    one = found[0]
    new = bold("image from a registry that nothing here used")
    if len(found) == 1:
        return f"{one.kind} {bold(one.name)}: {new}: {one.new.text}"
    return f"{_many(found)}: {new}: {one.new.registry}: {bold(_names(found))}"


def _version(found: Sequence[_Change]) -> str:
    one = found[0]
    values = " → ".join(map(_versions, zip(*((change.old, change.new) for change in found), strict=True)))
    if not one.is_known:
        values = f"{one.old.text} → {one.new.text}"
    of = f", {one.new.repository}" if one.is_known else ""
    if len(found) == 1:
        return f"{one.kind} {bold(one.name)}: {one.part} {values}{of}"
    return f"{one.part} of {_many(found)} {values}{of}: {bold(_names(found))}"


def _versions(sides: Sequence[Image]) -> str:
    """A few versions; of many, their number, the lowest and the highest: `40 tags from 1.0 to 1.39`."""
    found = sorted({side.version for side in sides}, key=_natural)
    if len(found) <= _MOST_LISTED:
        return ", ".join(found)
    ends = "" if sides[0].digest else f" from {found[0]} to {found[-1]}"
    return f"{len(found):,} {'digests' if sides[0].digest else 'tags'}{ends}"


def _natural(version: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", version)]


def _common(*texts: Iterable[str]) -> str:
    """The first of the lists whose items are all the same."""
    return next((each.pop() for each in map(set, texts) if len(each) == 1), "several")


def _many(found: Sequence[_Change]) -> str:
    return f"{len(found):,} {found[0].kind}s"


def _names(found: Sequence[_Change]) -> str:
    return names([change.name for change in found])


_DEFAULT = "docker.io"
_DIGITS = 19
"""Characters of a digest that a line shows: `sha256:` and twelve digits."""
_COMMIT = re.compile(r"(?<![^\W_])[0-9a-f]{7,40}(?![^\W_])")
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)(?=$|[-+_.])")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Image:
    """An image."""

    text: str
    registry: str
    repository: str
    """With its registry."""
    tag: str
    digest: str

    @property
    def version(self) -> str:
        """What chooses one of the repository's images."""
        digest = f"{self.digest[:_DIGITS]}…" if len(self.digest) > _DIGITS else self.digest
        return "@".join(filter(None, (self.tag, digest))) or "latest"

    @property
    def path(self) -> str:
        """The repository within its registry."""
        return self.repository.partition("/")[2]

    @property
    def scheme(self) -> str:
        """How its tag is written, whatever the numbers and commits in it."""
        return "@" if self.digest else _NUMBER.sub("0", _COMMIT.sub("#", self.version))

    @property
    def release(self) -> tuple[int, ...]:
        """The numbers of a version such as 2.21.0-rc1; empty for other tags."""
        found = None if self.digest else _RELEASE.match(self.tag)
        return tuple(map(int, found[1].split("."))) if found else ()


def image(value: object) -> Image:
    """The image that a component registers; of one that is secret, or that nobody knows yet, only the text."""
    text = "none" if value is None else property_path.text(value).strip('"')
    if not isinstance(value, str) or text in (property_path.SECRET, property_path.UNKNOWN):
        return Image(text, "", "", text, "")
    name, _, digest = value.partition("@")
    folder, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    host, _, rest = f"{folder}{slash}{last}".partition("/")
    if not rest or not (set(".:") & set(host) or host == "localhost"):
        host, rest = _DEFAULT, f"{folder or 'library'}/{last}"
    return Image(value, host, f"{host}/{rest}", tag, digest)
