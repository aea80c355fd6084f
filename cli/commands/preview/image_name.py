"""The parts of an image's name: registry, repository, tag and digest."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cli.commands.preview import property_path

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
