"""Changes of images in words: those of another registry or repository apart from other tags and digests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from cli.commands.preview import kinds, property_path
from cli.commands.preview.report import OURS, Report
from cli.output.alike import Together, names
from cli.output.texts import bold

_MANY = 4
_DEFAULT = "docker.io"
_DIGITS = 19
"""Characters of a digest that a line shows: `sha256:` and twelve digits."""


@dataclass(frozen=True)
class _Image:
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


@dataclass(frozen=True)
class _Change:
    kind: str
    name: str
    old: _Image
    new: _Image

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
        return "image digest" if self.new.digest else "image tag"


def moved(report: Report) -> list[str]:
    """A line for each image, or many, of another registry, then of another repository, the fewest first."""
    found = [change for change in _changes(report) if change.moves]
    found.sort(key=lambda change: change.moves != "another registry")
    return list(_lines(found, (_equal, _from_to, _registries), _moved))


def versions(report: Report) -> list[str]:
    """A line for each other tag or digest of the same repository, or for many."""
    found = [change for change in _changes(report) if not change.moves]
    return list(_lines(found, (_equal, _repository), _version))


def _changes(report: Report) -> Iterator[_Change]:
    for token, kind in kinds.NAMES.items():
        for name, (old, new) in sorted(report.registered(token.removeprefix(OURS)).items()):
            before, after = old.get("image"), new.get("image")
            if old and new and before != after:
                yield _Change(kind, name, _image(before), _image(after))


def _image(value: object) -> _Image:
    text = "none" if value is None else property_path.text(value).strip('"')
    if not isinstance(value, str) or text == property_path.UNKNOWN:
        return _Image(text, "", "", text, "")
    name, _, digest = value.partition("@")
    folder, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    host, _, rest = f"{folder}{slash}{last}".partition("/")
    if not rest or not (set(".:") & set(host) or host == "localhost"):
        host, rest = _DEFAULT, f"{folder or 'library'}/{last}"
    return _Image(value, host, f"{host}/{rest}", tag, digest)


Key = Callable[[_Change], tuple[object, ...]]


def _equal(change: _Change) -> tuple[object, ...]:
    return change.kind, change.old, change.new


def _from_to(change: _Change) -> tuple[object, ...]:
    return change.kind, change.old.repository, change.new.repository


def _registries(change: _Change) -> tuple[object, ...]:
    to = change.new.registry if change.moves == "another registry" else change.new.repository
    return change.kind, change.old.registry, to


def _repository(change: _Change) -> tuple[object, ...]:
    return change.kind, change.new.repository, change.part


def _lines(found: Sequence[_Change], keys: Sequence[Key], line: Callable[[Sequence[_Change]], str]) -> Iterator[str]:
    """A line for each four or more that one of the keys has in common, the narrowest first, and for each other one."""
    many: list[list[_Change]] = []
    rest = list(found)
    for key in keys:
        groups: dict[tuple[object, ...], list[_Change]] = {}
        for change in rest:
            groups.setdefault(key(change), []).append(change)
        many += (group for group in groups.values() if len(group) >= _MANY)
        rest = list(chain.from_iterable(group for group in groups.values() if len(group) < _MANY))
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


def _version(found: Sequence[_Change]) -> str:
    one = found[0]
    sides = [side.version if one.is_known else side.text for side in (one.old, one.new)]
    values = " → ".join(sides)
    of = f", {one.new.repository}" if one.is_known else ""
    if len(found) == 1:
        return f"{one.kind} {bold(one.name)}: {one.part} {values}{of}"
    same = all((change.old, change.new) == (one.old, one.new) for change in found)
    return f"{one.part} of {_many(found)}{f' {values}' if same else ''}{of}: {bold(_names(found))}"


def _common(*texts: Iterable[str]) -> str:
    """The first of the lists whose items are all the same."""
    return next((each.pop() for each in map(set, texts) if len(each) == 1), "several")


def _many(found: Sequence[_Change]) -> str:
    return f"{len(found):,} {found[0].kind}s"


def _names(found: Sequence[_Change]) -> str:
    return names([change.name for change in found])
