"""The resource `kubernetes:helm.sh/v3:Release`: check, diff, create, read, update and delete by the real helm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tensorplane.core.errors import UserError
from tensorplane.plugins.kubernetes import (
    difference,
    helm_chart,
    helm_inputs,
    helm_operation,
    helm_process,
    paths,
    secrecy,
)
from tensorplane.plugins.kubernetes.checkpoint import INPUTS
from tensorplane.plugins.kubernetes.helm_live import Live
from tensorplane.plugins.kubernetes.helm_operation import Operation
from tensorplane.plugins.kubernetes.helm_process import Helm, HelmError
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import UNKNOWN, Properties, Secret, has_unknown, plain

# Outputs that are never inputs.
_COMPUTED = ("status", "resourceNames")
# What pulumi-kubernetes 4.3 to 4.4 kept among the inputs, and this provider keeps for a local chart.
_CHECKSUM = "checksum"
_REPLACING = ("name", "namespace")


@dataclass(frozen=True)
class Diff:
    """The differences for the engine: property paths with ADD, UPDATE or DELETE, and `_REPLACE` if they replace."""

    details: dict[str, str] = field(default_factory=dict)

    @property
    def has_changes(self) -> bool:
        return bool(self.details)

    @property
    def changed(self) -> list[str]:
        """The top-level properties that differ."""
        return sorted({str(paths.parse(path)[0]) for path in self.details})

    @property
    def replaces(self) -> list[str]:
        return sorted(path for path, kind in self.details.items() if kind.endswith("_REPLACE"))


class ReleaseError(UserError):
    """Helm failed, and this operation left nothing of the release."""


class ReleaseFailedError(ReleaseError):
    """The release exists but is not ready: the engine must keep `outputs` and retry with an update."""

    def __init__(self, message: str, resource_id: str, outputs: Properties, reasons: list[str]) -> None:
        super().__init__(message, *reasons)
        self.message = message
        self.resource_id = resource_id
        self.outputs = outputs
        self.reasons = reasons


class ReleaseResource:
    """All dicts are Pulumi properties from `values.decode`, with `Secret` and `UNKNOWN` marks."""

    def __init__(self, session: Session, program: str | None = None) -> None:
        self._session = session
        self._program = program

    def check(
        self, olds: Properties, news: Properties, seed: bytes, urn: str
    ) -> tuple[Properties, list[tuple[str, str]]]:
        """The inputs in their normal form; for a chart that cannot be loaded also a problem as (property, reason)."""
        try:
            inputs = helm_inputs.normal(
                helm_inputs.with_name(news, olds, urn.rpartition("::")[2], seed), self._session.namespace
            )
            release = plain(inputs)
            if not has_unknown(release):
                inputs["version"] = helm_chart.version(self._helm(), release)
                if checksum := helm_chart.checksum(release):
                    inputs[_CHECKSUM] = checksum
        except HelmError as error:
            reason = f"{self._safe(str(error), news)}; check the chart name and repository configuration."
            return inputs, [("chart", reason)]
        except UserError as refusal:
            return news, [("valueYamlFiles", str(refusal))]
        return inputs, []

    def diff(
        self,
        resource_id: str,
        olds: Properties,
        old_inputs: Properties,
        news: Properties,
        ignore_changes: Sequence[str] = (),
    ) -> Diff:
        """Compares the new inputs with the state, so that drift found by a refresh is corrected.

        Values in the state beyond the old inputs (added by the chart or by others) are no difference. The engine has
        restored ignored inputs, but not `version`, which `check` computes.
        """
        state, before, after = plain(olds), plain(old_inputs), plain(news)
        if has_unknown(after) and not after.get("version"):
            after["version"] = state.get("version")  # the chart was not loaded, so it counts as unchanged
        if "version" in ignore_changes:
            after["version"] = state.get("version")
        if _CHECKSUM not in after:
            before.pop(_CHECKSUM, None)
        details: dict[str, str] = {}
        for change in difference.changes({key: state.get(key) for key in after}, after):
            if change.kind != "DELETE":
                details[paths.render(change.path)] = change.kind
        for change in difference.changes(before, after):
            if change.kind == "DELETE" and change.path[0] not in _COMPUTED and paths.find(state, change.path)[0]:
                details[paths.render(change.path)] = change.kind
        return Diff({path: _with_replace(path, kind) for path, kind in details.items()})

    def create(
        self, urn: str, inputs: Properties, *, preview: bool = False, timeout: float | None = None
    ) -> tuple[str, Properties]:
        """Installs. Takes over a release that a killed run of this resource left."""
        operation = self._operation(urn, inputs, timeout)
        if preview:
            self._validate(operation, inputs)
            return "", _previewed(inputs)
        live = self._carry_out(operation, inputs, operation.install)
        return operation.resource_id, _outputs(inputs, live)

    def read(
        self, resource_id: str, inputs: Properties, state: Properties
    ) -> tuple[str, Properties, Properties] | None:
        """Id, inputs and state as in the cluster; None if the release does not exist. Without a state: an import."""
        helm = self._helm()
        name, namespace = plain(state.get("name")), plain(state.get("namespace"))
        if not state:
            namespace, _, name = resource_id.rpartition("/")
        live = helm_operation.find(helm, namespace or "default", name)
        if live is None:
            return None
        if not inputs:
            inputs = helm_inputs.normal(_imported(live), self._session.namespace)
        return resource_id or f"{live.namespace}/{live.name}", inputs, _outputs(inputs, live)

    def update(
        self,
        resource_id: str,
        urn: str,
        olds: Properties,
        news: Properties,
        *,
        preview: bool = False,
        timeout: float | None = None,
    ) -> Properties:
        """Upgrades, also after an interrupted or failed operation."""
        operation = self._operation(urn, news, timeout)
        if preview:
            self._validate(operation, news)
            return _previewed(news)
        return _outputs(news, self._carry_out(operation, news, operation.upgrade))

    def delete(self, resource_id: str, urn: str, state: Properties, *, timeout: float | None = None) -> None:
        """Uninstalls. Succeeds if the release no longer exists."""
        operation = self._operation(urn, state, timeout)
        try:
            operation.uninstall()
        except HelmError as error:
            raise ReleaseError(f"Helm release {resource_id!r}: {self._safe(str(error), state)}") from None

    def _carry_out(self, operation: Operation, inputs: Properties, action: Callable[[], Live]) -> Live:
        """Runs an install or an upgrade; distinguishes failures that leave nothing from those that leave a release."""
        if not self._session.is_reachable:
            # Without this check, helm would try localhost, and name that in its error.
            raise ReleaseError(
                f"Helm release {operation.resource_id!r}: the Kubernetes cluster cannot be reached: "
                f"{self._session.unreachable}"
            )
        try:
            return action()
        except helm_operation.IncompleteError as error:
            raise ReleaseFailedError(
                f"Helm release {operation.resource_id!r} failed to initialize completely: "
                f"{self._safe(str(error), inputs)}",
                operation.resource_id,
                _outputs(inputs, error.live),
                [self._safe(reason, inputs) for reason in error.reasons],
            ) from None
        except HelmError as error:
            raise ReleaseError(f"Helm release {operation.resource_id!r}: {self._safe(str(error), inputs)}") from None

    def _validate(self, operation: Operation, inputs: Properties) -> None:
        if has_unknown(plain(inputs)):
            return
        try:
            operation.validate(in_cluster=self._session.is_reachable)
        except HelmError as error:
            raise ReleaseError(f"Helm release {operation.resource_id!r}: {self._safe(str(error), inputs)}") from None

    def _operation(self, urn: str, inputs: Properties, timeout: float | None) -> Operation:
        return Operation(
            self._helm(), plain(inputs), urn, timeout, lambda: self._session.api, self._session.status(urn)
        )

    def _helm(self) -> Helm:
        settings = self._session.settings.helm_release_settings
        program = self._program or helm_process.program()
        return Helm(program, self._session.kubeconfig, settings, self._session.cancelled)

    def _safe(self, message: str, inputs: Properties) -> str:
        return helm_operation.safe(message, inputs)


def _with_replace(path: str, kind: str) -> str:
    return f"{kind}_REPLACE" if path in _REPLACING else kind


def _previewed(inputs: Properties) -> Properties:
    return {**inputs, INPUTS: Secret(inputs), "status": UNKNOWN, "resourceNames": UNKNOWN}


def _outputs(inputs: Properties, live: Live) -> Properties:
    """The inputs, completed and corrected by what the cluster has, and the inputs again as they were given."""
    outputs: Properties = plain(inputs)
    outputs["values"] = helm_inputs.merged(outputs.get("values") or {}, live.values)
    outputs["version"] = live.version
    outputs |= {"resourceNames": live.resource_names(), "status": live.status_output()}
    secrecy.mark(outputs, inputs)
    outputs[INPUTS] = Secret(inputs)
    return outputs


def _imported(live: Live) -> Properties:
    return {
        "chart": live.chart,
        "name": live.name,
        "namespace": live.namespace,
        "values": live.values,
        "version": live.version,
    }
