"""The SDK of AWS is imported by stacks on AWS alone, and by those not before they build."""

from __future__ import annotations

import subprocess
import sys

from tests.support.rendering import PROJECT

PROGRAM = """
import sys
from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tests.support import rendering

def load(cluster, **more):
    return stack.load(Settings({"cluster": cluster, **more}))

for cluster in ({"kind": "embedded"}, {"kind": "existing", "context": "lab"}):
    rendering.run(lambda: stack.build(load(cluster)))
print("others", "pulumi_aws" in sys.modules)
groups = {"cpu": {"machine": "m7i.2xlarge", "min": 1, "max": 1}}
config = load({"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}}, nodeGroups=groups)
print("checked", "pulumi_aws" in sys.modules)
rendering.run(lambda: stack.build(config))
print("built", "pulumi_aws" in sys.modules)
services = ("autoscaling", "cloudwatch", "ec2", "eks", "iam", "kms", "s3", "sqs", "ssm")
print(*(name for name in services if "Lazy" not in type(sys.modules[f"pulumi_aws.{name}"]).__name__))
"""


def test_the_sdk_of_aws_is_imported_when_a_cluster_on_aws_is_built_and_not_before() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["others False", "checked False", "built True", "cloudwatch ec2 eks iam kms"]
