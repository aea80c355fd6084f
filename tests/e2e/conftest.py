"""The dev stack on a cluster of the tests' own: deployed once, for all end-to-end tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from driver import linked_project
from driver.deploy import Stack, open_stack
from driver.kube import Kube
from driver.policy_pack import Policies
from driver.target import Target
from driver.watch import Outputs
from embedded import cluster
from embedded.paths import PROJECT, Instance
from embedded.step import Step
from tests.support import cluster_fixture, controllers


@dataclass(frozen=True)
class Deployed:
    """The dev stack after `pulumi up`."""

    instance: Instance
    stack: Stack
    outputs: Outputs
    kube: Kube

    def server(self) -> dict[str, object]:
        """The server's Deployment status."""
        path = f"/apis/apps/v1/namespaces/{self.outputs.namespace}/deployments/{self.outputs.deployment}"
        found = self.kube.get(path)
        assert found is not None
        status: dict[str, object] = found.get("status", {})
        return status


@pytest.fixture(scope="package")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """A running cluster with its images."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), "e2e", storage=True) as running:
        cluster.load_images(running, Step("load images"))
        yield running


@pytest.fixture(scope="package")
def deployed(instance: Instance) -> Deployed:
    """The dev stack, as `make up` deploys it; its job may still be running."""
    stack = open_stack(Target("", instance))
    step = Step("pulumi up")
    stack.prepare(step)
    stack.up(step, policies=Policies.RUN)
    outputs = Outputs.of(stack.outputs())
    return Deployed(instance, stack, outputs, Kube.of(instance.kubeconfig))


@pytest.fixture(scope="module")
def with_workflows(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The dev stack with Argo Workflows, so that its Kueue admits pods, too; the other tests have it without."""
    controllers.provide(deployed.instance, "argo-workflows")
    settings = (PROJECT / "Pulumi.dev.yaml").read_text() + "  tensorplane:controllers: {argoWorkflows: chart}\n"
    stack = linked_project.with_settings(deployed.stack, tmp_path_factory.mktemp("workflows"), settings)
    stack.prepare(Step("prepare"))
    stack.up(Step("pulumi up"))
    yield replace(deployed, stack=stack)
    deployed.stack.prepare(Step("prepare"))
    deployed.stack.up(Step("pulumi up"))
