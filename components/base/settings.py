"""Reads the stack's settings below `tensorplane:`, and collects every problem before any resource is created."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from tensorplane import stack_file
from tensorplane.components.base import problems, retired, stack_name
from tensorplane.components.base.location import value_at
from tensorplane.components.base.model import Model
from tensorplane.components.base.problems import Key, Note, Problem, did_you_mean
from tensorplane.stack_file import StackFile
from tensorplane.stack_file.file_problems import FileProblem

M = TypeVar("M", bound=Model)

_ENGINE = "pulumi"
"""Prefix of the engine's own configuration, which a stack's file may have too."""
_PROVIDERS = ("aws", "azure-native", "gcp", "kubernetes")
"""Prefixes of settings for default providers. All resources here have explicit providers, which do not read them; an
environment of Pulumi ESC may have such keys for other stacks."""
_OTHER_KEYS = ("encryptedkey", "encryptionsalt", "environment", "secretsprovider")
"""What Pulumi reads in a stack's file, apart from `config`."""
_DECLARING = ("nodeGroups", "volumes", "streams", "queues", "teams", "workloads")
"""The sections that declare resources."""
_DEEPEST = 100


@dataclass(frozen=True)
class Settings:
    """What the stack's file says under one project's name, unchecked."""

    tree: dict[str, Any]
    secret: frozenset[Key] = frozenset()
    """Paths of encrypted values, which are never shown."""
    key_problems: tuple[str, ...] = ()
    """Problems of the file outside the tree, one line each."""
    file: str = ""
    """Name of the stack's file; empty for the settings of the running stack."""
    file_problems: tuple[FileProblem, ...] = ()
    """What Pulumi refuses or misreads in the file, with paths in the tree."""
    rewritten: Mapping[Key, str] = field(default_factory=dict)
    """Numbers and booleans that Pulumi formats differently, as they were written."""
    folder: Path | None = None
    """Where the files of the project's stacks are; None: the settings refer to no other stack's."""
    notes: tuple[Note, ...] = ()
    """A warning for each setting under a former name."""
    former: Mapping[Key, Key] = field(default_factory=dict)
    """The path of each such setting as the file has it, by its present path, which the tree has."""

    @classmethod
    def of_stack(cls) -> Settings:
        """The settings of the running stack."""
        from pulumi.runtime import config as pulumi_config

        # The SDK has no public way to list the keys, but unknown keys must be reported.
        stored = {**pulumi_config.get_config_env(), **pulumi_config.CONFIG.get()}
        tree, found = _own(dict(sorted(stored.items())), stack_file.project_name(Path()))
        found += _of_providers(stored.keys() & _in_clear().keys()) if _of_providers(stored) else ()
        concealed = {key: tree[key] for key in tree if pulumi_config.is_config_secret(f"{stack_file.PROJECT}:{key}")}
        clear = _own(_in_clear())[0] if concealed else {}
        return cls(tree, frozenset(_not_in(clear, concealed)), found, folder=Path()).under_present_names()

    @classmethod
    def of_file(cls, file: StackFile) -> Settings:
        """The settings in a stack's file, with ENCRYPTED in place of encrypted values."""
        tree, found_problems = _own(file.config)
        found_problems += _of_providers(file.config)
        allowed = ("config", *_OTHER_KEYS)
        ignored = f"Pulumi ignores this key; allowed are {', '.join(allowed)}"
        unknown = _once((key, f"{ignored}{did_you_mean(key, allowed)}") for key in file.others if key not in allowed)
        unknown = [f"{file.name}: {line}" for line in unknown]
        rewritten = {_own_path(at): text for at, text in file.rewritten.items()}
        found = tuple(replace(each, value=_own_path(each.value), key=_own_path(each.key)) for each in file.problems)
        secret = frozenset(stack_file.encrypted(tree))
        own = cls(tree, secret, (*unknown, *found_problems), file.name, found, rewritten, file.folder)
        return own.under_present_names()

    def under_present_names(self) -> Settings:
        """These settings, with present names for former ones."""
        found = retired.rename(self.tree)
        return replace(
            self,
            tree=found.tree,
            secret=frozenset(found.present(path) for path in self.secret),
            key_problems=(*self.key_problems, *map(str, found.problems)),
            rewritten={found.present(path): text for path, text in self.rewritten.items()},
            notes=(*self.notes, *found.notes),
            former={**self.former, **found.former},
        )

    def beside(self, found: Iterable[Problem]) -> tuple[list[Problem], list[FileProblem]]:
        """The problems of the tree, and those of the file, without those that say the same again.

        Of a value that is misread, the tree's problem says what is taken instead; of a key, it is about another text.
        """
        keys = {each.key for each in self.file_problems if each.key}
        others = [problem for problem in found if problems.below(problem.path, keys) is None]
        at = {problem.path for problem in others}
        parents = {path[:length] for path in at for length in range(1, len(path) + 1)}
        # A problem at the value, below it, where it stands for a map, or of the map or list that it is in.
        lines = [each for each in self.file_problems if not (each.value in parents or each.value[:-1] in at)]
        return others, lines

    def declares_nothing(self) -> str:
        """Why an update must not continue because nothing is declared; else empty."""
        cluster = self.tree.get("cluster", {})
        found = not isinstance(cluster, Mapping) or cluster.get("kind", "embedded") not in ("embedded", "existing")
        if found or any(self.tree.get(section) for section in _DECLARING):
            return ""
        sections = f"{', '.join(_DECLARING[:-1])} or {_DECLARING[-1]}"
        return (
            f"Pulumi.{stack_name.current()}.yaml: it declares nothing, so an update would delete what the stack has; "
            f"declare {sections}, or delete the stack's resources with `pulumi destroy`"
        )

    @property
    def unread(self) -> list[Key]:
        """Paths of encrypted values, which only Pulumi can read."""
        return list(stack_file.encrypted(self.tree))

    def secret_words(self) -> set[str]:
        """Every text in the encrypted values that no message may show; names of settings are public."""
        known = problems.setting_names() if self.secret else set()
        return {
            word for path in self.secret for word in _words(value_at(self.tree, path)) if word and word not in known
        }


_PREFIX = f"{stack_file.PROJECT}:"


def _own_path(at: Key) -> Key:
    """A path below `config:` as one below the project's prefix."""
    return (at[0].removeprefix(_PREFIX), *at[1:]) if at else ()


def _own(config: Mapping[str, Any], project: str = "") -> tuple[dict[str, Any], tuple[str, ...]]:
    """The project's own settings without their prefix, and problems of other prefixes. `project`: the project's name,
    which Pulumi puts before a key without a prefix."""
    tree, found = {}, []
    for key, stored in config.items():
        prefix, _, name = key.partition(":")
        if prefix == stack_file.PROJECT:
            tree[name] = _parsed(stored)
        elif prefix not in (_ENGINE, *_PROVIDERS):
            typed = stack_file.PROJECT if prefix == project else prefix
            near = did_you_mean(typed, [stack_file.PROJECT, _ENGINE]).replace("?", f":{name}?")
            found.append((key, f"nothing reads a setting with this prefix; correct it{near}"))
    return tree, tuple(_once(found, lambda key: key.partition(":")[0]))


def _once(found: Iterable[tuple[str, str]], alike: Callable[[str], str] | None = None) -> list[str]:
    """Keys and their problems, a line each; many with one text, or that are alike, are one."""
    return [
        f"{problems.legible(key)}: {text}{problems.also_affects([problems.legible(other) for other, _ in others])}"
        for (key, text), *others in problems.group_by(found, lambda pair: alike(pair[0]) if alike else pair[1])
    ]


def _of_providers(keys: Iterable[str]) -> tuple[str, ...]:
    """Problems of keys that only default providers would read."""
    found = sorted(key for key in keys if key.partition(":")[0] in _PROVIDERS)
    reason = "nothing reads this key, because the stack's providers follow tensorplane:cluster and the environment"
    return tuple(_once((key, f"{reason}; remove it") for key in found))


def _parsed(stored: Any) -> Any:
    if not isinstance(stored, str):
        return stored
    try:
        value = json.loads(stored)
    except (ValueError, RecursionError):
        return stored
    return value if isinstance(value, dict | list) and not _is_deep(value) else stored


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for one in level for inner in _inside(one)]
    return bool(level)


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()


def _in_clear() -> Mapping[str, Any]:
    """The unencrypted settings in the checkout."""
    try:
        return stack_file.read(Path(f"Pulumi.{stack_name.current()}.yaml")).config
    except stack_file.Unreadable:
        return {}


def _not_in(clear: Any, value: Any, at: Key = ()) -> Iterator[Key]:
    """Paths at which a value differs from the unencrypted one.

    Pulumi only reports that a section contains secrets, not which. Values that are unencrypted in the checkout are not
    secret; all others are treated as secret.
    """
    if isinstance(value, Mapping) and isinstance(clear, Mapping):
        for key, inner in value.items():
            yield from _not_in(clear.get(key), inner, (*at, key))
    elif isinstance(value, list) and isinstance(clear, list) and len(value) == len(clear):
        for index, (known, inner) in enumerate(zip(clear, value, strict=True)):
            yield from _not_in(known, inner, (*at, str(index)))
    elif type(value) is not type(clear) or value != clear:
        yield at


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
