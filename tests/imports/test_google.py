"""The SDK of Google Cloud is imported by stacks on GKE alone, and by those not before they build."""

from __future__ import annotations

import subprocess
import sys

from tests.support.rendering import PROJECT

PROGRAM = """
import sys
from tensorplane import stack
from tests.support import rendering

print("others", "pulumi_gcp" in sys.modules)
config = stack.load(rendering.settings_of(rendering.PROJECT / "Pulumi.staging.yaml"))
print("checked", "pulumi_gcp" in sys.modules)
rendering.run(lambda: stack.build(config))
print("built", *sorted({name.partition(".")[0] for name in sys.modules if name.startswith("pulumi_")}))
"""


def test_the_sdk_of_google_cloud_is_imported_when_a_cluster_there_is_built_and_not_before() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["others False", "checked False", "built pulumi_gcp pulumi_kubernetes"]
