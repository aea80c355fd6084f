"""Runs the real helm: with its cluster, without leaking secrets, and ended whenever this process ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.stack_file import dumping

_TICK_SECONDS = 0.2
# How long helm may take to mark the release as failed after a cancellation before it is killed.
_GRACE_SECONDS = 10.0

_CHATTER = ("WARNING:", "coalesce.go:", "Pulled:", "Digest:")

# `helmReleaseSettings` of the Provider resource, by the variables that helm reads them from.
_SETTINGS = {
    "driver": "HELM_DRIVER",
    "pluginsPath": "HELM_PLUGINS",
    "registryConfigPath": "HELM_REGISTRY_CONFIG",
    "repositoryCache": "HELM_REPOSITORY_CACHE",
    "repositoryConfigPath": "HELM_REPOSITORY_CONFIG",
}


class HelmError(Exception):
    """An error of helm: its message, without usage texts and warnings, and its earlier output."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class CancelledError(HelmError):
    """The user cancelled the operation, so helm was stopped too."""


@contextlib.contextmanager
def private_file(text: str) -> Iterator[tuple[str, int]]:
    """A file that only this process and its children can read, by path and descriptor.

    It is in memory if the kernel supports that, so that nothing is left after `kill -9`; else on disk with mode 0600.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("tensorplane")
        try:
            os.fchmod(descriptor, 0o600)
            os.write(descriptor, text.encode())
            yield f"/proc/self/fd/{descriptor}", descriptor
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile("w", prefix="tensorplane-") as file:
            file.write(text)
            file.flush()
            yield file.name, file.fileno()


class Helm:
    """helm for one cluster. Every method call runs the program once."""

    def __init__(
        self, program: str, kubeconfig: Mapping[str, Any], settings: Mapping[str, Any], cancelled: threading.Event
    ) -> None:
        self._program = program
        self._kubeconfig = dumping.dumped(dict(kubeconfig))
        self._settings = settings
        self._cancelled = cancelled

    def run(
        self,
        *arguments: str,
        values: Mapping[str, Any] | None = None,
        descriptors: Sequence[int] = (),
        in_cluster: bool = True,
    ) -> str:
        """Runs helm and returns what it printed. `values` travel by its standard input, never by its arguments."""
        with private_file(self._kubeconfig) as (kubeconfig, descriptor):
            argv = [self._program, *arguments]
            # Without a cluster, helm must not find one by itself.
            environment = self._environment(kubeconfig if in_cluster else os.devnull)
            given = dumping.dumped(dict(values)) if values is not None else ""
            return self._finish(_start(argv, environment, [descriptor, *descriptors]), given)

    def uncancelled(self) -> Helm:
        """The same helm for clean-up after a cancellation."""
        copied = Helm(self._program, {}, self._settings, threading.Event())
        copied._kubeconfig = self._kubeconfig
        return copied

    def _environment(self, kubeconfig: str) -> dict[str, str]:
        # HELM_KUBECONTEXT or HELM_KUBEAPISERVER of the shell would select another cluster.
        foreign = ("PULUMI_", "KUBE", "HELM_KUBE", "HELM_NAMESPACE")
        environment = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
        for setting, variable in _SETTINGS.items():
            if self._settings.get(setting):
                environment[variable] = str(self._settings[setting])
        return environment | {"KUBECONFIG": kubeconfig}

    def _finish(self, child: subprocess.Popen[str], given: str) -> str:
        stopped = False
        to_send: str | None = given
        with child:
            while True:
                try:
                    output, errors = child.communicate(to_send, timeout=_TICK_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    to_send = None  # `communicate` continues with the input of its first call
                    if self._cancelled.is_set() and not stopped:
                        stopped = True
                        _stop(child)
        if stopped:
            raise CancelledError("the operation was cancelled")
        if child.returncode != 0:
            raise HelmError(_message(errors) or f"helm ended with exit code {child.returncode}", output)
        return output


def program() -> str:
    """The helm of the toolchain, else the one on PATH."""
    from tensorplane import toolchain  # imported only here: on an existing cluster there may be no toolchain

    with contextlib.suppress(UserError):
        return str(toolchain.tools().path("helm"))
    found = shutil.which("helm")
    if found is None:
        raise UserError(f"helm: not found; run `{command_lines.deploy()}` to build it, or install helm 3 on PATH")
    return found


def _start(argv: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]) -> subprocess.Popen[str]:
    # After `kill -9` of this process only the kernel can end helm, and it must: a helm that continues would race the
    # next update.
    setpriv = shutil.which("setpriv")
    guard = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
    return subprocess.Popen(
        [*guard, *argv],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        pass_fds=descriptors,
        start_new_session=True,  # the engine handles the terminal's Ctrl-C
    )


def _stop(child: subprocess.Popen[str]) -> None:
    """Lets helm mark the release as failed, as it does on SIGTERM; kills it if that takes too long."""
    _signal(child, signal.SIGTERM)
    killer = threading.Timer(_GRACE_SECONDS, _signal, (child, signal.SIGKILL))
    killer.daemon = True
    killer.start()


def _signal(child: subprocess.Popen[str], number: signal.Signals) -> None:
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)


def _message(errors: str) -> str:
    """Helm's error message: everything from the line that begins with `Error:` on."""
    lines = [line for line in errors.splitlines() if not line.startswith(_CHATTER)]
    start = next((at for at, line in enumerate(lines) if line.startswith("Error:")), 0)
    return "\n".join(lines[start:]).removeprefix("Error:").strip()
