"""The dev stack on a cluster of the tests' own: deployed once, for all end-to-end tests, none of which changes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import yaml

from tensorplane.cli import temporary_pod
from tensorplane.cli.commands.notebook import command as notebook_command
from tensorplane.cli.commands.runs import start
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.driver import watch
from tensorplane.driver.target import Target
from tensorplane.driver.update.policy_pack import Policies
from tensorplane.driver.update.stack import Stack, open_stack
from tensorplane.driver.watch import Outputs
from tensorplane.embedded.instance import Instance
from tests.e2e.pipelines import settings
from tests.support import cluster_fixture, controllers
from tests.support.waiting import PATIENT_SECONDS


@dataclass(frozen=True)
class Deployed:
    """The dev stack after `pulumi up`."""

    instance: Instance
    stack: Stack
    outputs: Outputs
    kube: Kube


@pytest.fixture(scope="package", autouse=True)
def patience() -> Iterator[None]:
    """Commands in this process wait as long as tests do: a slow machine is no fault."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "SERVING_SECONDS", PATIENT_SECONDS)
        patch.setattr(temporary_pod, "_START_SECONDS", PATIENT_SECONDS)
        patch.setattr(notebook_command, "_START_SECONDS", PATIENT_SECONDS)
        patch.setattr(start, "_SECONDS_TO_DELETE", PATIENT_SECONDS)
        yield


@pytest.fixture(scope="package")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """A running cluster with its images."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), "e2e", storage=True) as running:
        controllers.provide(running, "argo-workflows")
        yield running


@pytest.fixture(scope="package")
def deployed(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    """The dev stack, as `make up` deploys it, with a pipeline more; its job may still be running."""
    file = yaml.safe_load((PROJECT / "Pulumi.dev.yaml").read_text())
    for section, entries in settings.of_dev().items():
        file["config"].setdefault(f"tensorplane:{section}", {}).update(entries)
    checkout = open_stack(Target("", instance))
    stack = checkout.with_settings(tmp_path_factory.mktemp("dev"), yaml.safe_dump(file))
    stack.up(Step("pulumi up"), policies=Policies.RUN, state=stack.prepare(Step("prepare")))
    return Deployed(instance, stack, Outputs.of(stack.outputs()), Kube.of(instance.kubeconfig))
