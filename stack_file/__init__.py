"""Reads a stack's file, Pulumi.<stack>.yaml, exactly as Pulumi reads it, for all readers other than the engine.

Pulumi reads it with Go's yaml.v3 and passes its values to the program as JSON. PyYAML has the same parser, libyaml, but
resolves scalars by YAML 1.1, where `no` is false and `22:00` a number. So scalars are resolved here, by yaml.v3's
rules. `tests/hosts/test_reading.py` compares both on the real engine.
"""

import base64
import json
import math
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from tensorplane.stack_file import yaml_errors
from tensorplane.stack_file.file_problems import FileProblem, Key, some

PROJECT = "tensorplane"
"""The prefix of all settings, whatever the project's name is."""

_DEEPEST = 100
_MOST_CHARACTERS = 60
_MOST_VALUES = 100_000
_BYTE_ORDER_MARK = "\ufeff"


class Unreadable(ValueError):
    """A file that Pulumi cannot read either."""


class Encrypted:
    """A value that only Pulumi can read: `{secure: …}` in the file. A singleton, also after copying."""

    def __deepcopy__(self, _: object) -> "Encrypted":
        return self


ENCRYPTED = Encrypted()


@dataclass(frozen=True)
class StackFile:
    """The content of a stack's file."""

    name: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The values by prefixed key, as a program gets them, with ENCRYPTED for `{secure: …}`."""
    others: tuple[str, ...] = ()
    """The top-level keys other than `config`."""
    problems: tuple[FileProblem, ...] = ()
    """What Pulumi refuses or silently misreads."""
    rewritten: Mapping[Key, str] = field(default_factory=dict)
    """Numbers and booleans whose text Pulumi changes, such as 1.10 and True, as they are written."""
    folder: Path | None = None
    """Where the file is, beside those of the project's other stacks."""
    has_no_settings: bool = False
    """Whether it has neither `config` nor anything in its place: Pulumi writes such a file for a program's stack."""

    def section(self, name: str) -> Any:
        """One section under the project's prefix; None if it is absent."""
        return self.config.get(f"{PROJECT}:{name}")


def read(file: Path) -> StackFile:
    """The file's content. Raises Unreadable with one line if it cannot be parsed."""
    return _parsed(file, lambda text: _read(text, file.parent))


def read_sections(file: Path) -> StackFile:
    """A file whose top level has the sections of a stack's file, without `config:` and prefix. Raises as `read`."""
    return _parsed(file, _read_sections)


def _parsed(file: Path, read: Callable[[str], StackFile]) -> StackFile:
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{file.name}: the file is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise Unreadable(f"{file.name}: {error.strerror or error}") from None
    try:
        marked, text = _without_marks(text)
        found = read(text)
        return replace(found, name=file.name, folder=file.parent, problems=(*marked, *found.problems))
    except yaml.MarkedYAMLError as error:
        line, message = yaml_errors.explain(error, text)
        raise Unreadable(f"{file.name}, line {line}: {message}") from None
    except yaml.reader.ReaderError as error:
        line, message = yaml_errors.control_character(error.character, error.position, text)
        raise Unreadable(f"{file.name}, line {line}: {message}") from None
    except yaml.YAMLError as error:
        raise Unreadable(f"{file.name}: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise Unreadable(f"{file.name}: its values are nested too deeply; remove levels") from None


def project_name(folder: Path) -> str:
    """The name in a folder's Pulumi.yaml, by which Pulumi names states and takes keys without a prefix."""
    try:
        content = yaml.safe_load((folder / "Pulumi.yaml").read_bytes())
    except (OSError, yaml.YAMLError):
        return PROJECT
    name = content.get("name") if isinstance(content, dict) else None
    return name if isinstance(name, str) else PROJECT


def full_key(written: str) -> str:
    """A key of `config:` with its prefix. `PREFIX:config:KEY` is a former spelling that Pulumi still takes."""
    if ":" not in written:
        return f"{PROJECT}:{written}"
    former = re.fullmatch(r"([^:]+):config:([^:]+)", written)
    return f"{former[1]}:{former[2]}" if former else written


def encrypted(value: Any, at: Key = ()) -> Iterator[Key]:
    """The paths of encrypted values inside a value."""
    if value is ENCRYPTED:
        yield at
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from encrypted(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from encrypted(inner, (*at, str(index)))


def _without_marks(text: str) -> tuple[list[FileProblem], str]:
    """The text without byte order marks inside it, which editors do not show, and where they are.

    They would be a part of keys and values. One at the beginning is not, nor those in comments.
    """
    if _BYTE_ORDER_MARK not in text:
        return [], text
    unmarked, problems = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if _BYTE_ORDER_MARK in yaml_errors.without_comment(line):
            problems.append(FileProblem("an invisible byte order mark (U+FEFF); remove it", number))
            line = line.replace(_BYTE_ORDER_MARK, "")
        unmarked.append(line)
    return problems, "\n".join(unmarked)


def _problem(message: str, node: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=message, problem_mark=node.start_mark)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…")


def _is_ciphertext(text: str) -> bool:
    """Whether it looks like what Pulumi encrypts: `v1:NONCE:TEXT` with a passphrase or key, or Pulumi Cloud's text."""
    parts = text.removeprefix("v1:").split(":")
    if len(parts) != (2 if text.startswith("v1:") else 1):
        return False
    try:
        return all(base64.b64decode(part, validate=True) for part in parts)
    except ValueError:
        return False


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Leaves plain scalars unresolved, under a tag of their own."""

    yaml_implicit_resolvers = {None: [("plain", re.compile(""))]}  # noqa: RUF012  # as PyYAML declares it


def _content(text: str) -> "tuple[Any, _Reading]":
    # The events first: composing nodes recurses, and endless nesting would end the process.
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _problem(f"nested deeper than {_DEEPEST} levels; remove levels", event)
    reading = _Reading()
    root = yaml.compose(text, Loader=_Loader)
    return reading.value(root, ()) if root else None, reading


def _read_sections(text: str) -> StackFile:
    content, reading = _content(text)
    if not isinstance(content, dict):
        return StackFile(problems=(FileProblem("the file has no settings; add sections such as cluster and queues"),))
    return StackFile("", _config(content, reading.problems), (), tuple(reading.problems), reading.rewritten)


def _read(text: str, folder: Path) -> StackFile:
    content, reading = _content(text)
    if not isinstance(content, dict):
        return StackFile(
            problems=(
                FileProblem(
                    "the file has no settings; add config:"
                    if content is None
                    else "the file is not a map; write config: at its top"
                ),
            )
        )
    config = content.pop("config", None)
    if not isinstance(config, dict):
        problem = "config is missing" if config is None else "config is not a map"
        # Settings beside it are no other problem. What Pulumi itself has there is text, or a list of environments.
        beside = [] if config else [key for key, value in content.items() if isinstance(value, dict | Encrypted)]
        has_no_settings = config is None and not beside
        inside = f"{some(beside, 'and') if beside else 'the settings'} below it"
        inside += ", or run `pulumi up` if a program declares them" if has_no_settings else ""
        others = tuple(key for key in content if key not in beside)
        problems = (*reading.problems, FileProblem(f"{problem}; put {inside}"))
        return StackFile(others=others, has_no_settings=has_no_settings, problems=problems)
    made = _config(config, reading.problems)
    reading.problems += _without_prefix(config, folder)
    return StackFile("", made, tuple(content), tuple(reading.problems), reading.rewritten)


def _config(written: Mapping[str, Any], problems: list[FileProblem]) -> dict[str, Any]:
    """The configuration as a program gets it: scalars as text, and null as an empty text."""
    config: dict[str, Any] = {}
    for key, value in written.items():
        if full_key(key) in config:
            problems.append(
                FileProblem(f"{_shown(key)}: the key is set twice, with and without its prefix; remove one")
            )
        config[full_key(key)] = value if isinstance(value, dict | list | str | Encrypted) else _text(value)
    return config


def _without_prefix(written: Mapping[str, Any], folder: Path) -> Iterator[FileProblem]:
    """Keys that Pulumi takes as those of a project with another name, where nothing reads them."""
    keys = [key for key in written if ":" not in key]
    if keys and (project := project_name(folder)) != PROJECT:
        for key in keys:
            yield FileProblem(f"{_shown(key)} has no prefix, so Pulumi reads {project}:{key}; write {PROJECT}:{key}")


def _text(scalar: Any) -> str:
    return "" if scalar is None else json.dumps(scalar)


class _Reading:
    """Converts YAML nodes to values, and collects problems."""

    def __init__(self) -> None:
        self.problems: list[FileProblem] = []
        self.rewritten: dict[Key, str] = {}
        self._open: set[int] = set()
        self._values = 0

    def value(self, node: Any, at: Key) -> Any:
        """The value of a node."""
        self._values += 1
        if self._values > _MOST_VALUES:
            # Nested aliases multiply.
            raise _problem(f"more than {_MOST_VALUES:,} values", node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, at)
        if id(node) in self._open:
            raise _problem("an alias contains itself", node)
        self._open.add(id(node))
        self._refuse_tag(node, "value", at, _COLLECTIONS)
        if isinstance(node, yaml.SequenceNode):
            made: Any = [self.value(item, (*at, str(index))) for index, item in enumerate(node.value)]
        else:
            made = self._map(node, at)
            if len(made) == 1 and isinstance(made.get("secure"), str):
                if not _is_ciphertext(made["secure"]):
                    self._no_ciphertext(node, at)
                made = ENCRYPTED
        self._open.remove(id(node))
        return made

    def _no_ciphertext(self, node: Any, at: Key) -> None:
        # The value may be a secret in plain text, so it is not shown.
        key = ".".join(at)
        remedy = f"store it with: pulumi config set --secret --path {_shown(key)} VALUE"
        problem = f"the value of `secure` in {_shown(key)} is not encrypted by Pulumi"
        self._problem(node, f"{problem}; {remedy}")

    def _problem(self, node: Any, text: str, *, value: Key = (), key: Key = ()) -> None:
        self.problems.append(FileProblem(text, node.start_mark.line + 1 if node.start_mark else 0, value, key))

    def _map(self, node: Any, at: Key) -> dict[str, Any]:
        made: dict[str, Any] = {}
        merged: list[Any] = []
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag == "plain" and key.value == "<<":
                merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
                continue
            name = self._key(key, at)
            if name in made:
                both = isinstance(value, yaml.MappingNode) and isinstance(made[name], dict)
                remedy = "write the keys of both below one" if both else "remove one"
                self._problem(key, f"the key {_shown(name)} is set twice; {remedy}")
            made[name] = self.value(value, self._below(at, name))
        for other in merged:
            if not isinstance(other, yaml.MappingNode):
                raise _problem("<< takes a map, or a list of maps; write <<: *NAME of a map", other)
            made = {**self._merged(other, at), **made}
        return made

    def _merged(self, node: Any, at: Key) -> dict[str, Any]:
        made = self.value(node, at)
        return {"secure": ""} if made is ENCRYPTED else made

    def _below(self, at: Key, name: str) -> Key:
        # Below `config:`, at the second level, a key has its prefix.
        return (full_key(name),) if at == ("config",) else (*at, name)

    def _key(self, node: Any, parent: Key) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise _problem("a key must be text; quote it, or the value if it is a template's {{ … }}", node)
        made, is_misread = self._resolved(node, "key", parent)
        text = made if isinstance(made, str) else _text(made)
        if is_misread or text != node.value or made is None or isinstance(made, float):
            self._problem(node, _misread("key", node.value), key=self._below(parent, text))
        return text

    def _scalar(self, node: Any, at: Key) -> Any:
        made, is_misread = self._resolved(node, "value", at)
        if is_misread:
            self._problem(node, _misread("value", node.value), value=at)
        if not isinstance(made, str) and made is not None and _text(made) != node.value:
            self.rewritten[at] = node.value
        return made

    def _refuse_tag(self, node: Any, what: str, at: Key, allowed: Container[str]) -> None:
        if node.tag not in allowed:
            # As a key's, the problem stands for those of what its value would be without the tag.
            self._problem(node, f"the {what} has a tag; remove it", key=at)

    def _resolved(self, node: Any, what: str, at: Key) -> tuple[Any, bool]:
        """What a scalar is here, and whether Pulumi makes something else of it."""
        self._refuse_tag(node, what, at, _SCALARS)
        if node.tag != "plain" or node.style in _QUOTES:
            return node.value, False
        made = resolve(node.value)
        number = isinstance(made, int | float)
        is_misread = bool(_TIME.fullmatch(node.value)) or (number and not -_LARGEST < made < _LARGEST)
        return (node.value if is_misread else made), is_misread


def _misread(what: str, text: str) -> str:
    is_large = what == "value" and isinstance(resolve(text), int | float) and text.strip("+-")[0].isdigit()
    remedy = "use a smaller number, or quote it if it is text" if is_large else "quote it"
    return f"Pulumi reads the {what} {_shown(text)} as another value; {remedy}"


_NAMED_SCALARS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{f"{sign}.{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in ("inf", "Inf", "INF")},
}
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TIME = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
_SCALARS = ("plain", "tag:yaml.org,2002:str")
_COLLECTIONS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_QUOTES = ("'", '"', "|", ">")
_LARGEST = 2**63
"""From here on JSON's numbers are not exact."""


def resolve(plain: str) -> Any:
    """The value of an unquoted, untagged scalar in yaml.v3 and then in JSON, where a number without a fraction is an
    integer."""
    if plain in _NAMED_SCALARS:
        return _NAMED_SCALARS[plain]
    if plain[0] not in "+-.0123456789":
        return plain
    digits = plain if plain[0] == "." else plain.replace("_", "")
    if _INTEGER.fullmatch(digits):
        return _integer(digits)
    if _FLOAT.fullmatch(digits) and math.isfinite(decimal := float(digits)):
        return int(decimal) if decimal.is_integer() else decimal
    return plain


def _integer(digits: str) -> int:
    sign, body = (-1, digits[1:]) if digits[0] == "-" else (1, digits.removeprefix("+"))
    # A leading zero also means octal, which Python spells 0o.
    return sign * (int(body, 0) if body[1:2].isalpha() else int(body, 8 if body[0] == "0" else 10))
