"""What a program of the stack, and a check of its settings, never import: it would be most of their time."""

import subprocess
import sys

from tests.support.rendering import PROJECT


def test_building_the_stack_imports_no_tensorflow_and_no_cloud() -> None:
    program = "import sys; sys.path.insert(0, '.'); from tensorplane.stack import resources; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    modules = {name.split(".")[0] for name in shown.stdout.split()}
    assert "pulumi_kubernetes" in modules
    heavy = {"tensorflow", "keras", "numpy", "sklearn", "pulumi_aws", "pulumi_gcp", "pulumi_azure_native", "kubernetes"}
    assert not modules & heavy


CHECKS = """
import sys
from pathlib import Path
from tensorplane.cli import stack_config

for file in map(Path, sys.argv[1:]):
    stack_config.load(file)
# The SDKs import what they consist of when it is first asked for: until then it is there by name alone.
print(*(name for name, module in sys.modules.items() if type(module).__name__ != "_LazyModule"))
"""


def test_checking_settings_imports_no_resources_of_an_sdk() -> None:
    """They are most of the time that `tensorplane check` takes. Where one is only a type of a signature, quote it."""
    examples = (PROJECT / "examples").glob("*.yaml")
    # A workload stack finds its platform's file only once its own is in the project.
    files = [*PROJECT.glob("Pulumi.*.yaml"), *(each for each in examples if each.stem != "workload-stack")]
    argv = [sys.executable, "-c", CHECKS, *map(str, files)]
    shown = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=True)
    loaded = {".".join(name.split(".")[:2]) for name in shown.stdout.split()}
    frame = {"pulumi_kubernetes", *(f"pulumi_kubernetes.{name}" for name in ("_inputs", "_utilities", "provider"))}
    sdks = ("pulumi_", "kubernetes")
    assert {name for name in loaded if name.startswith(sdks)} <= frame
