"""The SDK of Azure is imported by stacks on Azure alone, and by those not before they build."""

from __future__ import annotations

import subprocess
import sys

from tests.support.rendering import PROJECT

CPU = {"cpu": {"machine": "Standard_D8s_v5", "min": 1, "max": 1}}
AKS = {"kind": "aks", "region": "westeurope", "endpoint": {"deployFromInside": True}, "inheritedAdmins": True}
PROGRAM = f"""
import sys
from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tests.support import rendering

def load(cluster, **more):
    return stack.load(Settings({{"cluster": cluster, **more}}))

for cluster in ({{"kind": "embedded"}}, {{"kind": "existing", "context": "lab"}}):
    rendering.run(lambda: stack.build(load(cluster)))
print("others", "pulumi_azure_native" in sys.modules)
config = load({AKS}, nodeGroups={CPU})
print("checked", "pulumi_azure_native" in sys.modules)
rendering.run(lambda: stack.build(config))
print("built", "pulumi_azure_native" in sys.modules, "pulumi_aws" in sys.modules)
"""


def test_the_sdk_of_azure_is_imported_when_a_cluster_on_azure_is_built_and_not_before() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["others False", "checked False", "built True False"]
