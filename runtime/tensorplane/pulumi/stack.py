"""A stack in a Pulumi program: what its settings declare, and the workloads that the program adds."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Unpack

import pulumi
import pulumi_kubernetes as k8s

from tensorplane import stack, stack_file
from tensorplane.components.base import encrypted, outputs, stack_name
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.pulumi import written
from tensorplane.pulumi.arguments import StackArguments
from tensorplane.stack import checks, loading, platform_stack
from tensorplane.stack.resources import PlatformResources
from tensorplane.stack_file import file_problems
from tensorplane.workloads.component import Workload

_program: Stack | None = None
"""The stack of the running program. A second one would have resources of the same names."""


def settings(file: str | Path) -> dict[str, Any]:
    """The settings in a YAML file: sections such as `cluster` and `queues`, as a stack's file has them below
    `tensorplane:`. A program may change them before it declares the stack.

    `pulumi.RunError` with every problem of the file, a line each.
    """
    path = Path(file)
    try:
        read = stack_file.read_sections(path)
    except stack_file.Unreadable as error:
        raise pulumi.RunError(str(error)) from None
    found = Settings.of_file(read)
    lines = [*file_problems.lines(path.name, list(found.file_problems)), *found.key_problems]
    lines += [f"{path.name}: {'.'.join(at)} is encrypted, which only a stack's file can be" for at in found.secret]
    if lines:
        raise pulumi.RunError("\n".join(lines))
    return found.tree


class Stack:
    """The cluster, namespace, volumes, queues, teams and workloads of some settings, and what workloads need to run.

    Its resources have the names and types of those that a stack's file declares, so that a stack can move from the one
    to the other. The program exports `workloads`, `namespace` and the other outputs of a stack, by which the next
    update knows the runs of its jobs, and its settings, by which `tensorplane why` and other commands know the stack.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Any] = MappingProxyType({}),
        *,
        project: Path | None = None,
        own_namespace: k8s.core.v1.Namespace | None = None,
        **sections: Unpack[StackArguments],
    ) -> None:
        """`name`: in place of the stack's name, such as in its namespace `tensorplane-NAME`. `settings`: sections as in
        YAML, as `settings` reads them, and `sections`: further ones, in Python's spelling. Values may be outputs of
        other resources. `project`: the folder of scripts and files, by default that of the nearest `Pulumi.yaml`.
        `own_namespace`: the program's own, in place of one that the stack creates; it has the name that the settings
        say, and `NAMESPACE_LABELS`.

        `pulumi.RunError` with every problem of the settings, a line each.
        """
        global _program
        if _program is not None and _program._is_running():
            raise pulumi.RunError(f"{name}: stack {_program.name} is in this program already; use a program for each")
        more = written.tree(sections)
        if twice := sorted(settings.keys() & more.keys()):
            raise pulumi.RunError("\n".join(f"{each}: is in settings and an argument; give it once" for each in twice))
        self.name: str = name
        self._project = project
        self._monitor = pulumi.runtime.settings.get_monitor()
        self._problems: list[str] = []
        stack_name.configure(name)
        self._settings = Settings({**settings, **more})
        try:
            self._resolved = stack.load(self._settings, project)
        except UserError as error:
            raise pulumi.RunError(str(error)) from None
        encrypted.keep(self._resolved.secret_words)
        for note in checks.notes(self._resolved):
            pulumi.log.warn(str(note))
        self._base = PlatformResources.of(self._resolved, more_workloads=True, own_namespace=own_namespace)
        self._base.keep_from_lost_nodes()
        self._base.share_library()
        inside = self._base.inside
        self._workloads: dict[str, Workload] = {
            each: args.build(each, ("workloads", each), self._base.platform, inside)
            for each, args in self._resolved.config.workloads.items()
        }
        self._export()
        _program = self

    def add(self, kind: str, name: str, tree: Mapping[str, Any], opts: pulumi.ResourceOptions | None) -> Workload:
        """Creates a workload. `tree`: its settings as in YAML, without `kind`.

        With problems, the program goes on, so that it ends with those of all its workloads: a `pulumi.RunError` with a
        line for each. What is made of the refused one's outputs is not created.
        """
        own = Settings({"platform": self.name, "workloads": {name: {"kind": kind, **tree}}})
        try:
            found = loading.load_on(own, self._settings, self._resolved.config, self._project)
        except UserError as error:
            self._problems += [_for_program(line, kind, name) for line in error.lines]
            return RefusedWorkload(name, self._failure)
        platform = replace(self._base.platform, settings=found.platform)
        options = pulumi.ResourceOptions.merge(self._base.inside, opts) if opts else self._base.inside
        made = found.config.workloads[name].build(name, ("workloads", name), platform, options)
        self._workloads[name] = made
        # Other workloads may name it: a job its server.
        declared = {**(self._settings.tree.get("workloads") or {}), name: {"kind": kind, **tree}}
        self._settings = replace(self._settings, tree={**self._settings.tree, "workloads": declared})
        self._export()
        return made

    @cached_property
    def _failure(self) -> pulumi.Output[Any]:
        """An output that ends the program. It is made with the first problem, and read when the program is through."""

        def fail(_: object) -> None:
            raise pulumi.RunError("\n".join(self._problems))

        # Not before the volumes: the SDK crashes when a program fails while it starts to serve their hooks.
        return pulumi.Output.all(*(each.claim.urn for each in self._base.platform.volumes.values())).apply(fail)

    def _export(self) -> None:
        for name, value in self._base.outputs(self._workloads).items():
            pulumi.export(name, value)
        # Defaults follow this name, and not that of the Pulumi stack, by which commands would derive them.
        known = platform_stack.spelled_out(self._settings.tree, self.name)
        pulumi.export(outputs.SETTINGS_KEY, json.dumps(written.without_outputs(known), sort_keys=True))

    def _is_running(self) -> bool:
        """Whether it is of the running program, and not of one that a test has run before."""
        return self._monitor is pulumi.runtime.settings.get_monitor()


class RefusedWorkload(Workload):
    """A workload with problems, in a program that goes on only to find the others."""

    def __init__(self, name: str, failure: pulumi.Output[Any]) -> None:
        super().__init__("tensorplane:index:Refused", name)
        self.outputs = defaultdict(lambda: failure)
        self.gpus = 0
        self.register_outputs({})


def _for_program(line: str, kind: str, name: str) -> str:
    """A problem's line with the argument in place of the key."""
    own = f"{stack_file.PROJECT}:workloads.{name}"
    key, colon, rest = line.partition(": ")
    if not colon or not (key == own or key.startswith(f"{own}.")):
        return line
    first, dot, inside = key.removeprefix(own).lstrip(".").partition(".")
    argument = "".join(f"_{each.lower()}" if each.isupper() else each for each in first)
    shown = f"{kind[0].upper()}{kind[1:]} {name}"
    return f"{shown}, argument {argument}{dot}{inside}: {rest}" if argument else f"{shown}: {rest}"
