"""An install, upgrade or uninstall of a release, also after an interrupted operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorplane.core.errors import UserError
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes import helm_chart, helm_flags, helm_live, helm_reasons, secrecy
from tensorplane.plugins.kubernetes.helm_live import Live, find
from tensorplane.plugins.kubernetes.helm_process import CancelledError, Helm, HelmError
from tensorplane.plugins.kubernetes.values import Properties, secret_texts

__all__ = ["IncompleteError", "Operation", "find", "safe"]

# Errors that a preview ignores: kinds, namespaces and leftovers that the update itself handles.
_LATER = ("ensure CRDs are installed first", "another operation (install/upgrade/rollback) is in progress")


class IncompleteError(HelmError):
    """The release exists, but the operation on it failed."""

    def __init__(self, message: str, live: Live, reasons: list[str]) -> None:
        super().__init__(message)
        self.live = live
        self.reasons = reasons


class Operation:
    """A resource operation with helm, on plain inputs."""

    def __init__(
        self,
        helm: Helm,
        release: dict[str, Any],
        urn: str,
        timeout: float | None,
        api: Callable[[], Objects],
        log: Callable[[str], None],
    ) -> None:
        self._helm = helm
        self._release = release
        self._urn = urn
        self._timeout = timeout
        self._api = api
        self._log = log
        self._name = str(release["name"])
        self._namespace = str(release.get("namespace") or "default")

    @property
    def resource_id(self) -> str:
        return f"{self._namespace}/{self._name}"

    def install(self) -> Live:
        """Installs a new release, or completes the one of a killed run of this resource."""
        live = self._find()
        if live is None:
            return self._apply("install", helm_flags.install(self._release, self._timeout))
        if not self._is_ours():
            raise HelmError(
                f"the release exists already ({live.status}, chart {live.chart} {live.version}) and was not made by "
                "this resource; import it (`pulumi import`), give the resource another name, or uninstall it"
            )
        return self._upgrade(live)

    def upgrade(self) -> Live:
        return self._upgrade(self._find())

    def uninstall(self) -> None:
        self._log(f"helm uninstall {self._name}")
        flags = helm_flags.uninstall(self._release, self._timeout)
        self._helm.run("uninstall", "--ignore-not-found", *flags, *self._arguments())

    def validate(self, *, in_cluster: bool) -> None:
        """Renders the chart, and lets the API server, if it answers, check the result; changes nothing."""
        release = self._release | {"dependencyUpdate": False}
        verb, flags = ["template"], ["--create-namespace"]
        if in_cluster:
            verb, flags = ["upgrade", "--dry-run=server"], helm_flags.upgrade(release, self._timeout)
        try:
            self._with_chart(verb, flags, in_cluster=in_cluster)
        except HelmError as error:
            if not any(text in str(error) for text in _LATER):
                raise

    def _upgrade(self, live: Live | None) -> Live:
        if live is not None and live.is_pending:
            self._clear(live)
        return self._apply("upgrade", helm_flags.upgrade(self._release, self._timeout))

    def _clear(self, live: Live) -> None:
        """Cleans up after a killed operation: helm refuses every other one while the release is pending."""
        if not self._is_ours():
            raise HelmError(
                f"another operation on the release is running or was interrupted ({live.status}), not by this "
                f"resource; wait for it, or run `helm rollback --namespace {self._namespace} {self._name}`"
            )
        served = helm_live.last_deployed(self._helm, self._namespace, self._name)
        if served is None or live.status == "uninstalling":
            self._log(f"removing the incomplete release {self._name} of a killed run ({live.status})")
            self._helm.run("uninstall", "--ignore-not-found", *self._arguments())
        else:
            self._log(f"rolling {self._name} back to revision {served} after a killed run ({live.status})")
            self._helm.run("rollback", *self._arguments(), str(served))

    def _apply(self, verb: str, flags: list[str]) -> Live:
        before = self._find()
        self._log(f"helm {verb} {self._name}")
        try:
            self._with_chart([verb], [*flags, "--labels", helm_live.owner_label(self._urn)], in_cluster=True)
        except HelmError as error:
            raise self._failure(error, before) from None
        live = self._find()
        if live is None:
            raise HelmError("the release was removed meanwhile, not by this resource")
        return live

    def _failure(self, error: HelmError, before: Live | None) -> HelmError:
        """The error to raise: IncompleteError if the operation left a release, which a bad chart, say, does not."""
        if isinstance(error, CancelledError):
            self._helm = self._helm.uncancelled()  # a last read, for the state
        live = self._find()
        if live is None or (before is not None and live.revision == before.revision):
            return error
        try:
            reasons = helm_reasons.reasons(self._api, live)
        except UserError:
            reasons = []
        return IncompleteError(str(error), live, reasons)

    def _with_chart(self, verb: list[str], flags: list[str], *, in_cluster: bool) -> None:
        with helm_chart.located(self._helm, self._release) as chart:
            if self._release["lint"] and helm_chart.local_path(self._release):
                arguments = ("lint", "--values", "-", "--", chart.reference)
                self._helm.run(*arguments, values=self._release["values"], in_cluster=False)
            self._helm.run(
                *verb,
                *flags,
                *chart.options,
                "--values",
                "-",
                *self._arguments(),
                chart.reference,
                values=self._release["values"],
                descriptors=chart.descriptors,
                in_cluster=in_cluster,
            )

    def _find(self) -> Live | None:
        return find(self._helm, self._namespace, self._name)

    def _is_ours(self) -> bool:
        return helm_live.is_owned(self._helm, self._namespace, self._name, self._urn)

    def _arguments(self) -> tuple[str, ...]:
        return ("--namespace", self._namespace, "--", self._name)


def safe(message: str, inputs: Properties) -> str:
    """The message without the secrets of the inputs: a template's error quotes values."""
    return secrecy.redact(message, secret_texts(inputs))
