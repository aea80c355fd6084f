"""Names, templates and helpers of the helm tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes.helm_release import ReleaseResource
from tensorplane.plugins.kubernetes.values import Properties

URN = "urn:pulumi:dev::shop::kubernetes:helm.sh/v3:Release::tiny"
OTHER_URN = "urn:pulumi:prod::shop::kubernetes:helm.sh/v3:Release::tiny"

# Nothing runs pods here, so this one is never ready: whoever waits for it waits until the time is up.
NEVER_READY = """
apiVersion: v1
kind: Pod
metadata: {name: never}
spec: {containers: [{name: main, image: "none:1"}]}
"""

SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-settings}
data: {greeting: {{ .Values.greeting | quote }}, size: {{ .Values.size | quote }}}
"""


@dataclass(frozen=True)
class Release:
    """The release `web` of the tests' chart, as one resource of the engine's."""

    helm: ReleaseResource
    chart: Path
    api: Objects
    namespace: str

    def inputs(self, **given: Any) -> Properties:
        """Checked inputs."""
        news = {"chart": str(self.chart), "name": "web", "namespace": self.namespace} | given
        checked, failures = self.helm.check({}, news, b"seed", URN)
        assert failures == []
        return checked

    def create(self, **given: Any) -> tuple[str, Properties]:
        """Its ID and outputs."""
        return self.helm.create(URN, self.inputs(**given))

    def preview(self, **given: Any) -> Properties:
        """The outputs of a preview of its creation."""
        resource_id, outputs = self.helm.create(URN, self.inputs(**given), preview=True)
        assert resource_id == ""
        return outputs

    def update(self, outputs: Properties, **given: Any) -> Properties:
        """The outputs after an update to other inputs."""
        return self.helm.update(f"{self.namespace}/web", URN, outputs, self.inputs(**given))

    def read(self, outputs: Properties, **given: Any) -> Properties:
        """The outputs after a refresh; the release must be there."""
        found = self.helm.read(f"{self.namespace}/web", self.inputs(**given), outputs)
        assert found is not None
        return found[2]

    def settings(self, namespace: str = "") -> dict[str, str]:
        """What the chart made of its values."""
        return dict(self.api.get(GVK("", "v1", "ConfigMap"), "web-settings", namespace or self.namespace)["data"])

    def template(self, text: str, name: str = "settings") -> Path:
        """Gives the chart a template."""
        file = self.chart / "templates" / f"{name}.yaml"
        file.write_text(text)
        return file

    def never_ready(self) -> Path:
        """Gives the chart a pod for which helm waits until its time is up."""
        return self.template(NEVER_READY, "never")

    def pods(self) -> list[str]:
        """The names of its pods."""
        return [pod["metadata"]["name"] for pod in self.api.list(GVK("", "v1", "Pod"), self.namespace)]
