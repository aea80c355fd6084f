"""Names, templates and helpers of the helm tests."""

from __future__ import annotations

from embedded.provider.api import Api
from embedded.provider.gvk import GVK

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


def settings_of(api: Api, namespace: str, name: str = "web-settings") -> dict[str, str]:
    """What the chart made of its values."""
    return dict(api.get(GVK("", "v1", "ConfigMap"), name, namespace)["data"])
