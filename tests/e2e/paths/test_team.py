"""What a team's members may do: the API server answers for each request, and a volume's access decides."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml
from kubernetes import client, config

from tests.e2e.paths.conftest import NAME, SECTIONS, TEAM, a_member
from tests.e2e.stacks import OwnStack, volume_folder
from tests.support.person import Person

_NAMESPACE = f"tensorplane-{NAME}"

ALLOWED = {
    ("create", "jobset.x-k8s.io", "jobsets", TEAM),
    ("delete", "jobset.x-k8s.io", "jobsets", TEAM),
    ("list", "jobset.x-k8s.io", "jobsets", TEAM),
    ("create", "", "configmaps", TEAM),
    ("list", "", "pods", TEAM),
    ("get", "", "pods/log", TEAM),
    ("list", "", "events", TEAM),
    ("list", "kueue.x-k8s.io", "workloads", TEAM),
    ("list", "kueue.x-k8s.io", "localqueues", TEAM),
    ("list", "kueue.x-k8s.io", "clusterqueues", ""),
    ("list", "kueue.x-k8s.io", "resourceflavors", ""),
}
DENIED = {
    ("create", "", "pods", TEAM),
    ("delete", "", "pods", TEAM),
    ("create", "", "pods/exec", TEAM),
    ("create", "", "pods/portforward", TEAM),
    ("list", "", "secrets", TEAM),
    ("get", "", "secrets", TEAM),
    ("create", "", "secrets", TEAM),
    ("create", "", "services", TEAM),
    ("create", "", "serviceaccounts", TEAM),
    ("create", "", "serviceaccounts/token", TEAM),
    ("create", "", "persistentvolumeclaims", TEAM),
    ("delete", "", "configmaps", TEAM),
    ("create", "batch", "jobs", TEAM),
    ("create", "apps", "deployments", TEAM),
    ("create", "networking.k8s.io", "networkpolicies", TEAM),
    ("delete", "networking.k8s.io", "networkpolicies", TEAM),
    ("create", "rbac.authorization.k8s.io", "rolebindings", TEAM),
    ("patch", "kueue.x-k8s.io", "workloads", TEAM),
    ("create", "kueue.x-k8s.io", "localqueues", TEAM),
    ("update", "kueue.x-k8s.io", "clusterqueues", ""),
    ("create", "kueue.x-k8s.io", "resourceflavors", ""),
    ("create", "jobset.x-k8s.io", "jobsets", _NAMESPACE),
    ("list", "jobset.x-k8s.io", "jobsets", _NAMESPACE),
    ("list", "jobset.x-k8s.io", "jobsets", "tensorplane-dev"),
    ("list", "jobset.x-k8s.io", "jobsets", ""),
    ("list", "", "pods", "tensorplane-dev"),
    ("get", "", "configmaps", _NAMESPACE),
    ("get", "", "services", _NAMESPACE),
    ("create", "", "services/proxy", _NAMESPACE),
    ("list", "", "pods", ""),
    ("list", "", "nodes", ""),
    ("list", "", "persistentvolumes", ""),
    ("create", "", "namespaces", ""),
    ("patch", "", "namespaces", ""),
    ("impersonate", "", "users", ""),
    ("create", "certificates.k8s.io", "certificatesigningrequests", ""),
}


@pytest.mark.parametrize(("asked", "expected"), [(ALLOWED, True), (DENIED, False)], ids=["allowed", "denied"])
def test_what_the_api_server_lets_a_member_do(
    member: Person, asked: set[tuple[str, str, str, str]], expected: bool
) -> None:
    assert member.kubeconfig
    api = client.AuthorizationV1Api(config.new_client_from_config_dict(yaml.safe_load(member.kubeconfig.read_text())))

    def may(verb: str, group: str, resource: str, namespace: str) -> bool:
        plain, _, sub = resource.partition("/")
        wanted = {"verb": verb, "group": group, "resource": plain, "subresource": sub, "namespace": namespace}
        review = api.create_self_subject_access_review({"spec": {"resourceAttributes": wanted}})
        return bool(review.status.allowed)

    assert {each for each in asked if may(*each) is not expected} == set()


@pytest.mark.nightly("an update; unit tests tell which claims and rights follow")
def test_a_team_that_may_write_from_now_on_writes_to_the_same_data(
    paths: OwnStack, command: str, tmp_path: Path
) -> None:
    member = a_member(paths, tmp_path, "speech", command)
    sections = copy.deepcopy(SECTIONS)
    sections["teams"]["speech"]["volumes"]["datasets"] = "readWrite"
    try:
        paths.up(**sections)
        member.write(writes="open('/datasets/of-speech', 'w').write('written')")
        size = ("--cpus", "0.1", "--memory-gib", "0.25", "--volume", "datasets:/datasets", "--name", member.name)
        assert ": finished" in member("run", *size, "--", "python", "writes.py")
        folders = [volume_folder(paths.deployed, namespace, "datasets") for namespace in (paths.namespace, "speech")]
        assert folders[0] == folders[1]
        assert (folders[0] / "of-speech").read_text() == "written"
    finally:
        # Kubernetes keeps the claim for the pods that have mounted it, finished ones too.
        job_sets = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/speech/jobsets"
        for one in paths.kube.items(job_sets):
            paths.kube.delete(f"{job_sets}/{one['metadata']['name']}", propagationPolicy="Foreground")
        paths.up(**SECTIONS)
