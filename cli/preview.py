"""`tensorplane preview`: the real preview with the policy pack, as a table here and as Markdown for a reviewer."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from rich.console import Console

from cli import markdown, report, table
from embedded import cluster, toolchain
from embedded.children import Children
from embedded.fault import Fault
from embedded.hosts import stand_ins
from embedded.hosts.environment import pulumi_environment
from embedded.hosts.stack_settings import StackSettings
from embedded.paths import PROJECT
from embedded.target import Target

_MODE = {
    "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "1",
    # Objects in a cluster that does not exist yet show their inputs; otherwise policies would see them empty, and pass.
    "PULUMI_LEGACY_PROVIDER_PREVIEW": "1",
}
_PACK = PROJECT / "policies"


@dataclass(frozen=True)
class Preview:
    """One stack to preview: its settings, and the CLI with what it runs with."""

    settings: StackSettings
    pulumi: Path
    environment: Mapping[str, str]
    pack: Path = _PACK
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    """Packages for which the environment has a preview-only provider, and why."""
    stays: bool = True
    """Whether the stack is made where it is kept, rather than for this one preview."""

    def run(self, watch: Callable[[report.Event], None] = lambda event: None) -> report.Report:
        """Asks the engine what an update would do. Nothing in the cluster or in the state changes."""
        self.settings.make_stack(self.pulumi, self.environment, select=self.stays)
        children = Children()
        child = children.start(self._command(), {**self.environment, **_MODE}, self.settings.project)
        complaints: list[str] = []
        aside = threading.Thread(target=_listen, args=(child.stderr, complaints), daemon=True)
        aside.start()
        events = []
        try:
            for event in _events(child.stdout, complaints):
                events.append(event)
                watch(event)
            code = child.wait()
        except BaseException:
            children.end(child)
            raise
        aside.join()
        found = report.of(self.settings.name, events, failed=code != 0, stand_ins=self.stand_ins)
        if code and not (found.faults or any(verdict.messages for verdict in found.verdicts)):
            # It ended before the engine ran, so there was no event to tell why.
            return replace(found, faults=tuple(line.removeprefix("error: ") for line in complaints))
        return found

    def _command(self) -> list[str]:
        command = [str(self.pulumi), "preview", "--json", "--non-interactive", "--color=never"]
        command += ["--stack", self.settings.name, "--config-file", str(self.settings.file)]
        command += ["--policy-pack", str(self.pack)]
        quota = self.pack / f"config.{self.settings.name}.json"
        return [*command, "--policy-pack-config", str(quota)] if quota.exists() else command


@contextmanager
def opened(stack: str, context: str) -> Iterator[Preview]:
    """The preview of a stack, on the cluster that its file or `context` names. What it alone needs is gone afterwards.

    A stack in a cloud that nobody has deployed gets a state for this one preview.
    """
    target = Target.of(context, stack=stack)
    settings, pulumi = StackSettings(stack, target.home), toolchain.tools().path("pulumi")
    settings.source()
    if target.embedded and not cluster.is_running(target.instance):
        # The API server judges what would be applied, so a preview needs one.
        raise Fault("The embedded cluster is stopped, and a preview asks it. Start it with: make up")
    _compare(settings, target)
    environment = target.environment()
    with ExitStack() as passing:
        stays = not target.cloud or settings.has_stack(pulumi, environment)
        if not stays:
            home = Path(passing.enter_context(tempfile.TemporaryDirectory(prefix="tensorplane-preview-")))
            settings, environment = replace(settings, home=home), {**environment, **_own_state(home)}
        needed = stand_ins.needed()
        path = passing.enter_context(stand_ins.on_path(needed, environment["PATH"]))
        yield Preview(settings, pulumi, {**environment, "PATH": path}, stand_ins=needed, stays=stays)


def _compare(settings: StackSettings, target: Target) -> None:
    """Tell what only the cluster knows is wrong. Mistakes of the settings alone are the engine's to tell."""
    from cli import check

    file = settings.source()
    if target.cloud or check.encrypted(file, "cluster", "namespace"):
        return
    try:
        config = check.load(file)
    except Fault:
        return
    check.compare(config, target.api())


def _own_state(home: Path) -> dict[str, str]:
    # A passphrase of the user's stays: it may be what reads values that are encrypted in the stack's file.
    given = {name: value for name, value in os.environ.items() if name != "PULUMI_BACKEND_URL"}
    return pulumi_environment(home, given)


def run(stack: str, context: str, file: Path, console: Console) -> int:
    """Previews, prints the table, writes the Markdown to `file`. 0 when an update may go ahead, else 1."""
    seen: set[str] = set()
    with opened(stack, context) as preview, console.status(f"previewing {stack}") as status:

        def watch(event: report.Event) -> None:
            if step := event.get("resourcePreEvent"):
                seen.add(step["metadata"]["urn"])
                status.update(f"previewing {stack}: {len(seen)} resources")

        found = preview.run(watch)
    console.print(table.render(found, console.width))
    try:
        file.write_text(markdown.render(found))
    except OSError as error:
        raise Fault(
            f"The report cannot be written to {file}: {error.strerror}. Name another place with --report"
        ) from None
    console.print(f"Report: {file}", style="dim", highlight=False)
    return 1 if found.failed else 0


def _events(stream: IO[str] | None, complaints: list[str]) -> Iterator[report.Event]:
    for line in stream or ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:  # what the CLI says before it streams events
            complaints.append(line.strip())


def _listen(stream: IO[str] | None, lines: list[str]) -> None:
    for line in stream or ():
        if line.startswith("error: "):
            lines.append(line.strip())
