"""Previews a deployed stack with this version, and says what would not stay as it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tensorplane import stack_file
from tensorplane.cli import stack_config
from tensorplane.cli.commands.preview import engine
from tensorplane.cli.commands.preview.engine import Preview
from tensorplane.cli.commands.preview.report import Change, Property, Report
from tensorplane.components.base import outputs
from tensorplane.components.base.plural import number_of
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.driver.stack_settings import read
from tensorplane.driver.target import Target
from tensorplane.driver.update import last_update
from tensorplane.version import __version__

CHANGES = 3
"""The exit code if something is replaced, deleted or restarted; 2 is that of a wrong usage."""


@dataclass(frozen=True)
class Upgrade:
    """What an update by this version does to a stack, a line each."""

    stack: str
    version: str
    """This version."""
    deployed_by: str
    """The version of the last update; empty if it was one before 0.2, which did not record it."""
    refused: tuple[str, ...] = ()
    """Why the update is refused. With problems of the settings, the rest is not known."""
    replaced: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    """Pods that start again, and what happens to the runs of training jobs."""
    renamed: tuple[str, ...] = ()
    """Settings that have another name now, which this version still accepts."""
    created: int = 0
    updated: int = 0
    """Resources that change in place without a restart."""
    unchanged: int = 0
    changed_settings: tuple[str, ...] | None = ()
    """Sections of the settings that differ from the last update; None if that failed, so that it is not known."""
    restarts_cluster: bool = False
    """Whether the embedded cluster restarts if its programs differ, and jobs go on from their checkpoints."""

    @property
    def changes_nothing(self) -> bool:
        """Whether an update by this version leaves all as it is."""
        touched = (self.refused, self.replaced, self.deleted, self.restarted, self.renamed, self.created, self.updated)
        return self.deployed_by == self.version and not any(touched)

    @property
    def exit_code(self) -> int:
        if self.refused:
            return 1
        return CHANGES if self.replaced or self.deleted or self.restarted else 0


def run(stack: str, context: str, console: Console, *, as_json: bool) -> int:
    """Prints what the upgrade does. Neither the cluster nor the state changes."""
    found = _found(stack, context, console)
    print(json.dumps(asdict(found), indent=2) if as_json else "\n".join(lines(found, context)))
    return found.exit_code


def _found(stack: str, context: str, console: Console) -> Upgrade:
    file = stack_config.file(stack)
    try:
        # A program checks the settings that it declares, and warns of former names, in the preview.
        notes = () if stack_config.is_of_program(file) else stack_config.load(file).former_names
    except UserError as error:
        return Upgrade(stack, __version__, "", refused=tuple(error.lines))
    renamed = tuple(map(str, notes))
    embedded = Target.of(context, stack=stack).embedded
    with engine.opened(stack, context) as preview, console.status(f"previewing {stack}"):
        if not preview.stays:
            deploy = command_lines.deploy(stack, context)
            raise UserError(f"stack {stack} is not deployed, so there is nothing to upgrade; deploy it with {deploy}")
        return of_preview(preview, file, renamed=renamed, embedded=embedded)


def of_preview(preview: Preview, file: Path, *, renamed: tuple[str, ...] = (), embedded: bool = False) -> Upgrade:
    """Runs the preview of a deployed stack. `file`: its settings in the project."""
    preview.settings.make_stack(preview.pulumi, preview.environment)
    deployed_by = deployed_version(preview.state())
    changed = changed_settings(preview.last_settings(), file)
    return upgrade(preview.run(), deployed_by, renamed=renamed, changed=changed, embedded=embedded)


def deployed_version(state: Mapping[str, Any]) -> str:
    """The version that deployed a state, as `pulumi stack export` prints it; empty if it recorded none."""
    return str(last_update.outputs(state["deployment"].get("resources") or ()).get(outputs.PROGRAM_KEY, ""))


def changed_settings(before: Mapping[str, Any] | None, file: Path) -> tuple[str, ...] | None:
    """The sections of a stack's file that differ from those of the last update; encrypted ones cannot be compared."""
    if before is None:
        return None
    prefix = f"{stack_file.PROJECT}:"
    now = {key.removeprefix(prefix): each for key, each in read(file).config.items() if key.startswith(prefix)}
    hidden = {key.removeprefix(prefix).partition(".")[0] for key in stack_config.encrypted(file)}
    sections = sorted((before.keys() | now.keys()) - hidden)
    return tuple(each for each in sections if before.get(each) != now.get(each))


_PODS = ("apps/v1:DaemonSet", "apps/v1:Deployment", "apps/v1:StatefulSet")
_RELEASE = "helm.sh/v3:Release"
_TEMPLATE = "spec.template"


def upgrade(
    report: Report,
    deployed_by: str,
    *,
    renamed: tuple[str, ...] = (),
    changed: tuple[str, ...] | None = (),
    embedded: bool = False,
) -> Upgrade:
    """What the report of a preview says about an upgrade. `embedded`: whether the cluster is this machine's."""
    replaced, deleted = report.of("replace"), report.of("delete")
    again = [each for each in report.of("update") if next(_that_restart(each), None)]
    return Upgrade(
        report.stack,
        __version__,
        deployed_by,
        refused=tuple(_refusals(report)),
        replaced=tuple(_grouped(replaced, lambda each: (one for one in each.properties if one.replaces))),
        deleted=tuple(_grouped(deleted, lambda each: ())),
        restarted=(*report.runs, *_grouped(again, _that_restart)),
        renamed=renamed,
        created=report.count("create"),
        updated=report.count("update") - len(again),
        unchanged=report.unchanged,
        changed_settings=changed,
        restarts_cluster=embedded and deployed_by != __version__,
    )


def lines(found: Upgrade, context: str = "") -> list[str]:
    """What is printed for people."""
    by = f"version {found.deployed_by}" if found.deployed_by else "a version before 0.2"
    shown = [f"Stack {found.stack} was deployed by {by}; this is version {found.version}."]
    if found.refused and not found.deployed_by:
        shown = [f"Stack {found.stack}; this is version {found.version}."]
    parts = {
        "Refused": found.refused,
        "Replaced": found.replaced,
        "Deleted": found.deleted,
        "Restarted": found.restarted,
        "Renamed": found.renamed,
    }
    for title, each in parts.items():
        shown += [f"{title}:", *(f"  {line}" for line in each)] if each else []
    return [*shown, *_conclusion(found, context)]


def _conclusion(found: Upgrade, context: str) -> Iterator[str]:
    if found.refused:
        yield "Fix what is refused, then run this again; nothing has changed."
        return
    counts = (
        f"{number_of(found.unchanged, 'resource')} unchanged, {found.updated} updated in place, {found.created} new"
    )
    quiet = found.exit_code == 0
    yield f"{'Nothing is replaced, deleted or restarted: ' if quiet else 'The rest: '}{counts}."
    if found.restarts_cluster:
        yield "The embedded cluster restarts if its own programs changed; its jobs go on from their last checkpoints."
    if found.changed_settings is None:
        yield "The last update failed, so this may also show changes of the settings."
    elif found.changed_settings:
        names = ", ".join(found.changed_settings)
        yield f"The settings changed since the last update ({names}), so this shows what they change, too."
    if found.changes_nothing:
        yield "Nothing to upgrade."
    else:
        yield f"To upgrade: {command_lines.deploy(found.stack, context)}"


def _refusals(report: Report) -> Iterator[str]:
    yield from report.errors
    yield from (risk.text for risk in report.risks if risk.stops_update)
    for result in report.policy_results:
        if result.level == "mandatory":
            yield from (f"policy {result.policy}: {message}" for message in result.messages)
    if report.failed and not (report.errors or report.stopped_by_risk or report.violates_policy):
        yield "the preview failed; see what it says with " + command_lines.of_stack("preview", report.stack)


def _that_restart(change: Change) -> Iterator[Property]:
    """The changed properties after which pods start again."""
    if change.type == _RELEASE:
        yield from change.properties
    elif change.type in _PODS:
        yield from (each for each in change.properties if each.path.startswith(_TEMPLATE))


_MOST_PROPERTIES = 3


def _grouped(changes: Iterable[Change], deciding: Callable[[Change], Iterable[Property]]) -> Iterator[str]:
    """A line for all resources of a kind that change for the same reason. `deciding`: the properties that are one."""
    groups: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        paths = list(dict.fromkeys(each.path.removeprefix(f"{_TEMPLATE}.") for each in deciding(change)))
        more = len(paths) - _MOST_PROPERTIES
        reason = ", ".join(paths[:_MOST_PROPERTIES]) + (f" and {more} more" if more > 0 else "")
        groups.setdefault((change.type.rpartition(":")[2], reason), []).append(change.name)
    for (kind, reason), names in groups.items():
        yield f"{kind} {', '.join(names)}" + (f": {reason}" if reason else "")
