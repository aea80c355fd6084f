"""A stack of its own on the tests' cluster, with the real engine: its updates, its state, its bytes."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import yaml

from tensorplane.components import versions
from tensorplane.core.step import Step
from tensorplane.driver.target import Target
from tensorplane.driver.update.stack import Stack, open_stack
from tensorplane.embedded.cluster import image_store
from tests.storage.claims import SNAPSHOT_API, Claims
from tests.support.waiting import eventually

UNRETAINED: dict[str, Any] = {"sizeGib": 1, "retain": False}
"""A volume that an update may delete."""
SNAPSHOT_KIND = f"{SNAPSHOT_API}/volumesnapshots"


class Declared:
    """A stack with a namespace of its own: nothing of it is another test's."""

    def __init__(self, claims: Claims, folder: Path, name: str) -> None:
        self.claims, self.name, self.namespace = claims, name, f"tensorplane-{name}"
        self._folder = folder

    @classmethod
    @contextmanager
    def own(cls, claims: Claims, folder: Path) -> Iterator[Self]:
        """One whose pods are gone afterwards."""
        made = cls(claims, folder, f"own-{secrets.token_hex(3)}")
        try:
            yield made
        finally:
            made.tidy()

    def tidy(self) -> None:
        """Nothing of it costs the next one time."""
        self.claims.kube.delete(f"/api/v1/namespaces/{self.namespace}")

    def load_images(self, *references: str) -> None:
        """What its pods run; without more, those of jobs that take snapshots."""
        image_store.load(self.claims.instance, (versions.EMBEDDED_IMAGES.python, *references), Step("images"))

    # -- its updates

    def stack(self, **volumes: Any) -> Stack:
        """The stack with these volumes, ready for `pulumi`."""
        return self.stack_of({"volumes": volumes})

    def stack_of(self, settings: dict[str, Any]) -> Stack:
        """The stack with these settings, ready for `pulumi`."""
        stack, _ = self._prepared(settings)
        return stack

    def _prepared(self, settings: dict[str, Any]) -> tuple[Stack, dict[str, Any]]:
        """The same, and its state."""
        opened = open_stack(Target("", self.claims.instance))
        named = replace(opened, settings=replace(opened.settings, name=self.name))
        written = {f"tensorplane:{key}": value for key, value in {"cluster": {"kind": "embedded"}, **settings}.items()}
        stack = named.with_settings(self._folder, yaml.safe_dump({"config": written}))
        return stack, stack.prepare(Step("prepare"))

    def up(self, *, acknowledge: dict[str, list[str]] | None = None, **volumes: Any) -> None:
        """`pulumi up` of these volumes."""
        self.up_of({"volumes": volumes, "acknowledge": acknowledge or {}})

    def up_of(self, settings: dict[str, Any]) -> dict[str, int]:
        """`pulumi up` of these settings, without a preview; what it changed."""
        stack, known = self._prepared(settings)
        return stack.up(Step("pulumi up"), previewed=True, state=known)

    # -- its volumes

    def path(self, kind: str, name: str = "") -> str:
        """Where the API has objects of the stack's namespace, of a kind with its API version: `v1/pods`."""
        version, _, plural = kind.rpartition("/")
        found = f"/{'api' if version == 'v1' else 'apis'}/{version}/namespaces/{self.namespace}/{plural}"
        return f"{found}/{name}" if name else found

    def claim(self, name: str) -> dict[str, Any]:
        """A volume's claim, once it is bound."""
        return self.claims.bound(name, self.namespace)

    def volume(self, name: str) -> str:
        """The PersistentVolume of a volume."""
        return str(self.claim(name)["spec"]["volumeName"])

    def content(self, name: str) -> Path:
        """Where the bytes of a volume are."""
        return self.claims.content_of(self.volume(name))

    def write(self, name: str, text: str) -> None:
        """Puts a text into a volume's only file."""
        (self.content(name) / "file").write_text(text)

    def read(self, name: str) -> str:
        """The text of a volume's file."""
        return (self.content(name) / "file").read_text()

    def snapshot_now(self, volume: str) -> str:
        """Runs the schedule's job by hand; the name of the snapshot that it took."""
        self.claims.run_now(self.namespace, f"snapshots-{volume}")
        taken = eventually(lambda: self.snapshots("manual", volume))[-1]
        self.until_ready(taken)
        return taken

    def until_ready(self, snapshot: str) -> None:
        """Waits until a snapshot can be restored."""
        self.claims.until(
            self.path(SNAPSHOT_KIND, snapshot), lambda found: (found.get("status") or {}).get("readyToUse")
        )

    def snapshots(self, reason: str, volume: str) -> list[str]:
        """Names of a volume's snapshots that were taken for a reason, the newest last."""
        found = self.claims.kube.items(self.path(SNAPSHOT_KIND), labelSelector=f"tensorplane.dev/reason={reason}")
        names = sorted(str(one["metadata"]["name"]) for one in found)
        return [name for name in names if name.startswith(f"{volume}-")]


def pulumi(stack: Stack, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the CLI as a person would, without questions."""
    updates = words[0] in ("up", "destroy", "refresh")
    more = ["--yes", "--suppress-outputs", "--config-file", str(stack.settings.file)] if updates else []
    argv = [str(stack.pulumi), *words, *more, "--non-interactive", "--color=never", "--stack", stack.settings.name]
    environment = os.environ | stack.environment | variables
    return subprocess.run(
        argv, cwd=stack.settings.project, env=environment, capture_output=True, text=True, check=False
    )


def state(stack: Stack) -> dict[str, Any]:
    """Every resource of the stack's state by its URN."""
    exported = json.loads(pulumi(stack, "stack", "export").stdout)
    return {one["urn"]: one for one in exported["deployment"].get("resources") or ()}
