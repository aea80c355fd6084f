"""A GKE cluster as it is registered: closed by default, encrypted, watched, and taken apart in the right order."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import yaml

from tensorplane.components.clusters.gke import slices
from tensorplane.components.clusters.gke.access import account_id
from tensorplane.components.clusters.gke.addresses import nodes_by_pods, pod_block
from tests.support.rendering import Rendered
from tests.unit.clusters.gke.built import CPU, rendered

GROUPS = {"cpu": CPU, "gpu": {"accelerator": "t4"}}


@cache
def made() -> Rendered:
    return rendered(GROUPS)


def inputs(**settings: Any) -> dict[str, Any]:
    found = rendered({"cpu": CPU}, **settings) if settings else made()
    return dict(found.one("container/cluster:Cluster", "cluster").inputs)


def kubeconfig(**settings: Any) -> dict[str, Any]:
    value = rendered({"cpu": CPU}, **settings).one("providers:kubernetes", "cluster").inputs["kubeconfig"]
    found = yaml.safe_load(value["value"])
    assert isinstance(found, dict)
    return found


def test_it_is_a_region_s_with_private_nodes_and_no_public_address() -> None:
    found = inputs()
    assert found["location"] == "us-central1"
    assert found["nodeLocations"] == ["us-central1-a", "us-central1-b", "us-central1-c"]
    assert found["privateClusterConfig"] == {"enablePrivateNodes": True, "enablePrivateEndpoint": True}
    assert found["masterAuthorizedNetworksConfig"] == {"cidrBlocks": [], "gcpPublicCidrsAccessEnabled": False}
    assert found["deletionProtection"] is True


def test_secrets_are_encrypted_with_a_key_that_gke_may_use_before_the_cluster_is_there() -> None:
    key = made().one("CryptoKey", "cluster-secrets").inputs
    grant = made().one("CryptoKeyIAMMember").inputs
    cluster = made().one("container/cluster:Cluster", "cluster")
    assert key["rotationPeriod"] == "7776000s"
    assert grant["member"].endswith("@container-engine-robot.iam.gserviceaccount.com")
    assert cluster.inputs["databaseEncryption"] == {"state": "ENCRYPTED", "keyName": "cluster-secrets-id"}
    assert "CryptoKeyIAMMember cluster-agent-secrets" in cluster.options["dependsOn"]


def test_a_key_of_one_s_own_is_used_and_no_other_is_made() -> None:
    mine = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
    found = rendered({"cpu": CPU}, encryptionKey=mine)
    assert found.one("container/cluster:Cluster", "cluster").inputs["databaseEncryption"]["keyName"] == mine
    assert found.one("CryptoKeyIAMMember").inputs["cryptoKeyId"] == mine
    assert not found.all("KeyRing") + found.all("CryptoKey")


def test_key_rings_can_never_be_deleted_so_theirs_is_not_named_here() -> None:
    assert "name" not in made().one("KeyRing").inputs


def test_the_nodes_account_may_write_what_nodes_write_and_read_images() -> None:
    roles = {member.inputs["role"] for member in made().all("projects/iAMMember:IAMMember")}
    assert roles == {"roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader"}
    first = inputs()["nodeConfig"]["serviceAccount"]
    assert first == "tensorplane-dev-nodes@demo.iam.gserviceaccount.com", "also of the nodes that go away at once"


def test_pods_have_identities_of_their_own() -> None:
    assert inputs()["workloadIdentityConfig"] == {"workloadPool": "acme-ml.svc.id.goog"}


def test_it_is_watched() -> None:
    monitored = set(inputs()["monitoringConfig"]["enableComponents"])
    assert {"SYSTEM_COMPONENTS", "DCGM", "JOBSET"} <= monitored
    assert {"APISERVER", "SCHEDULER", "CONTROLLER_MANAGER"} <= set(inputs()["loggingConfig"]["enableComponents"])


def test_the_default_pool_goes_away_and_what_it_was_is_nobody_s_business() -> None:
    cluster = made().one("container/cluster:Cluster", "cluster")
    assert cluster.inputs["removeDefaultNodePool"] is True
    assert cluster.options["ignoreChanges"] == ["initialNodeCount", "nodeConfig"]


def test_apis_stay_on_when_the_stack_goes() -> None:
    services = made().all("projects/service:Service")
    assert {s.inputs["service"].split(".")[0] for s in services} == {"cloudkms", "compute", "container", "file", "iam"}
    assert all(service.inputs["disableOnDestroy"] is False for service in services)


def test_the_network_has_ranges_for_pods_and_services_and_one_way_out() -> None:
    subnet = made().one("Subnetwork").inputs
    ranges = {r["rangeName"]: r["ipCidrRange"] for r in subnet["secondaryIpRanges"]}
    assert ranges == {"pods": "10.4.0.0/14", "services": "10.8.0.0/20"}
    assert subnet["privateIpGoogleAccess"] is True
    assert made().one("RouterNat").inputs["natIpAllocateOption"] == "AUTO_ONLY"
    assert "RouterNat cluster-nat" in made().one("container/cluster:Cluster", "cluster").options["dependsOn"]


def test_a_network_of_one_s_own_is_used_and_nothing_is_made_in_it() -> None:
    mine = {"network": "ml", "subnetwork": "nodes", "podsRange": "p", "servicesRange": "s"}
    found = rendered({"cpu": CPU}, network={"existing": mine})
    cluster = found.one("container/cluster:Cluster", "cluster").inputs
    assert (cluster["network"], cluster["subnetwork"]) == ("ml", "nodes")
    assert cluster["ipAllocationPolicy"] == {"clusterSecondaryRangeName": "p", "servicesSecondaryRangeName": "s"}
    assert not [r.name for r in found.resources if ":compute/" in r.type]
    assert not found.all("StorageClass"), "nobody knows here how Filestore gets into it"


def test_volumes_that_several_nodes_write_to_are_in_the_cluster_s_network() -> None:
    volumes = made().one("StorageClass", "tensorplane-files").inputs
    assert volumes["provisioner"] == "filestore.csi.storage.gke.io"
    assert volumes["parameters"]["network"] == made().one("compute/network:Network").inputs["name"]


def test_a_public_address_is_for_those_who_are_named() -> None:
    found = inputs(endpoint={"public": True, "allowedCidrs": ["203.0.113.0/24"]})
    assert found["privateClusterConfig"]["enablePrivateEndpoint"] is False
    assert found["masterAuthorizedNetworksConfig"]["cidrBlocks"] == [{"cidrBlock": "203.0.113.0/24"}]


def test_the_control_plane_s_addresses_can_be_chosen() -> None:
    found = inputs(network={"controlPlaneCidr": "172.16.0.32/28"})
    assert found["privateClusterConfig"]["masterIpv4CidrBlock"] == "172.16.0.32/28"


@pytest.mark.parametrize(
    ("settings", "start", "end", "days"),
    [
        ({}, "2026-01-03T02:00:00Z", "2026-01-03T08:00:00Z", "SA,SU"),
        ({"days": ["TH"], "start": "22:30", "hours": 12}, "2026-01-01T22:30:00Z", "2026-01-02T10:30:00Z", "TH"),
    ],
)
def test_the_maintenance_window_begins_on_one_of_its_days(
    settings: dict[str, Any], start: str, end: str, days: str
) -> None:
    window = inputs(maintenance=settings)["maintenancePolicy"]["recurringWindow"]
    assert window == {"startTime": start, "endTime": end, "recurrence": f"FREQ=WEEKLY;BYDAY={days}"}


def test_the_kubeconfig_leads_to_the_name_and_holds_no_secret() -> None:
    found = kubeconfig()
    assert found["clusters"][0]["cluster"] == {"server": "https://gke-demo.example"}
    login = found["users"][0]["user"]
    assert list(login) == ["exec"]
    assert login["exec"]["command"] == "gke-gcloud-auth-plugin"


def test_without_the_name_it_leads_to_the_address_and_names_who_vouches_for_it() -> None:
    found = kubeconfig(endpoint={"dns": False})["clusters"][0]["cluster"]
    assert found == {"server": "https://203.0.113.1", "certificate-authority-data": "Y2E="}


def test_objects_go_before_the_nodes_that_they_run_on() -> None:
    needed = made().one("providers:kubernetes", "cluster").options["dependsOn"]
    assert {"NodePool cpu", "NodePool gpu"} <= set(needed)


def test_the_provider_of_google_is_explicit_everywhere() -> None:
    google = [r for r in made().resources if r.type.startswith("gcp:")]
    assert {r.options.get("provider") for r in google} == {"cluster-gcp"}
    assert made().one("providers:gcp").inputs["project"] == "acme-ml"


def test_labels_for_bills_are_everywhere() -> None:
    found = rendered({"cpu": CPU}, labels={"team": "ml"})
    assert found.one("container/cluster:Cluster", "cluster").inputs["resourceLabels"] == {"team": "ml"}
    node = found.one("NodePool", "cpu").inputs["nodeConfig"]
    assert node["resourceLabels"] == {"team": "ml", "tensorplane-node-group": "cpu"}


@pytest.mark.parametrize(
    ("name", "account"),
    [
        ("ml", "ml-nodes"),
        ("a" * 24, f"{'a' * 24}-nodes"),
        ("a" * 40, "aaaaaaaaaaaaaaaaa-e33cdf-nodes"),
    ],
)
def test_the_account_s_id_fits(name: str, account: str) -> None:
    assert account_id(name) == account
    assert len(account) <= 30


@pytest.mark.parametrize(("pods", "block"), [(8, 16), (9, 32), (32, 64), (33, 128), (110, 256), (128, 256), (129, 512)])
def test_a_node_takes_twice_its_pods_in_addresses(pods: int, block: int) -> None:
    assert pod_block(pods) == block
    assert nodes_by_pods("10.0.0.0/16", pods) == 65536 // block


@pytest.mark.parametrize(
    ("topology", "like", "valid"),
    [
        ("4x8", "2x2", True),
        ("8x4", "2x2", False),
        ("32x32", "2x2", False),
        ("2x2x4", "2x2x1", True),
        ("4x4x12", "2x2x1", True),
        ("4x4x6", "2x2x1", False),
        ("8x4x4", "2x2x1", False),
        ("4x4", "2x2x1", False),
        ("4 by 4", "2x2", False),
    ],
)
def test_topologies_are_those_that_tpus_are_wired_in(topology: str, like: str, valid: bool) -> None:
    assert slices.is_topology(topology, like) is valid
