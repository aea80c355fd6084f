"""Facts of the catalog that are documented elsewhere, and how it is read."""

import subprocess
import sys

import pytest

from tensorplane.components import catalog
from tensorplane.components.catalog import Cloud
from tests.support.rendering import PROJECT

PREFERRED: list[tuple[Cloud, str, int, str]] = [
    ("eks", "t4", 1, "g4dn.xlarge"),
    ("eks", "t4", 4, "g4dn.12xlarge"),
    ("eks", "t4g", 1, "g5g.xlarge"),
    ("eks", "a10g", 8, "g5.48xlarge"),
    ("eks", "l4", 1, "g6.xlarge"),
    ("eks", "l40s", 4, "g6e.12xlarge"),
    ("eks", "v100-32gb", 8, "p3dn.24xlarge"),
    ("eks", "a100-40gb", 8, "p4d.24xlarge"),
    ("eks", "a100-80gb", 8, "p4de.24xlarge"),
    ("eks", "h100-80gb", 1, "p5.4xlarge"),
    ("eks", "h100-80gb", 8, "p5.48xlarge"),
    ("eks", "h200", 8, "p5en.48xlarge"),  # p5e.48xlarge is as large and has no list price
    ("eks", "b200", 8, "p6-b200.48xlarge"),
    ("eks", "b300", 8, "p6-b300.48xlarge"),
    ("eks", "rtx-pro-6000", 1, "g7e.2xlarge"),
    ("gke", "t4", 1, "n1-standard-4"),
    ("gke", "v100", 8, "n1-standard-32"),
    ("gke", "p100", 2, "n1-standard-8"),
    ("gke", "l4", 1, "g2-standard-4"),
    ("gke", "l4", 2, "g2-standard-24"),
    ("gke", "a100-40gb", 16, "a2-megagpu-16g"),
    ("gke", "h100-80gb", 8, "a3-highgpu-8g"),
    ("gke", "h200", 8, "a3-ultragpu-8g"),
    ("gke", "b200", 8, "a4-highgpu-8g"),
    ("gke", "gb200", 4, "a4x-highgpu-4g"),
    ("gke", "rtx-pro-6000", 1, "g4-standard-48"),  # smaller ones have a part of a card
    ("gke", "tpu-v5e", 8, "ct5lp-hightpu-8t"),
    ("gke", "tpu-v6e", 1, "ct6e-standard-1t"),
    ("aks", "t4", 4, "Standard_NC64as_T4_v3"),
    ("aks", "a10", 1, "Standard_NV36ads_A10_v5"),  # smaller ones have a part of a card
    ("aks", "a100-80gb", 1, "Standard_NC24ads_A100_v4"),
    ("aks", "h100-nvl", 1, "Standard_NC40ads_H100_v5"),
    ("aks", "h100-80gb", 8, "Standard_ND96isr_H100_v5"),
]


@pytest.mark.parametrize(("cloud", "accelerator", "count", "name"), PREFERRED)
def test_a_node_group_gets_the_smallest_machine(cloud: Cloud, accelerator: str, count: int, name: str) -> None:
    assert catalog.offers(cloud, accelerator, count)[0].name == name


def test_machines_as_their_clouds_document_them() -> None:
    h100 = catalog.machine("eks", "p5.48xlarge")
    assert h100 and (h100.vcpus, h100.memory_gib, h100.efa, h100.gpudirect) == (192, 2048, 32, "RDMA")
    mega = catalog.machine("gke", "a3-megagpu-8g")
    assert mega and (mega.cloud_accelerator, mega.gpudirect) == ("nvidia-h100-mega-80gb", "TCPXO")
    slice_ = catalog.machine("gke", "ct5lp-hightpu-4t")
    assert slice_ and (slice_.cloud_accelerator, slice_.topology, slice_.vcpus) == ("tpu-v5-lite-podslice", "2x2", 112)
    arm = catalog.machine("eks", "m8g.xlarge")
    assert arm and (arm.arch, arm.image) == ("arm64", "AL2023_ARM_64_STANDARD")
    azure = catalog.machine("aks", "Standard_NC4as_T4_v3")
    assert azure and (azure.vcpus, azure.memory_gib, azure.count) == (4, 28, 1)


@pytest.mark.parametrize(
    ("cloud", "name"),
    [
        ("eks", "m7i.2xlarge"),
        ("eks", "c7g.large"),
        ("eks", "t3.medium"),
        ("gke", "e2-standard-4"),
        ("gke", "n2-standard-8"),
        ("gke", "c4a-standard-8"),
        ("gke", "t2d-standard-4"),
        ("aks", "Standard_D8s_v5"),
        ("aks", "Standard_D4ps_v6"),
        ("aks", "Standard_F8s_v2"),
        ("aks", "Standard_DS2_v2"),
    ],
)
def test_usual_machines_without_accelerators_are_known(cloud: Cloud, name: str) -> None:
    machine = catalog.machine(cloud, name)
    assert machine and machine.accelerator is None and machine.count == 0


def test_a_machine_that_accelerators_are_added_to_is_plain_by_its_name() -> None:
    plain = catalog.machine("gke", "n1-standard-8")
    assert plain and plain.accelerator is None and not plain.attached
    with_card = catalog.offers("gke", "t4", 1)[0]
    assert with_card.attached and with_card.cloud_accelerator == "nvidia-tesla-t4"


def test_what_is_added_is_paid_for() -> None:
    (one, *_), (two, *_) = catalog.offers("gke", "t4", 1), catalog.offers("gke", "t4", 2)
    plain = catalog.price("gke", "n1-standard-4", "us-central1")
    added = catalog.price("gke", one, "us-central1")
    assert plain and added and plain.on_demand and added.on_demand
    assert added.on_demand == pytest.approx(plain.on_demand + 0.35)
    assert added.source.startswith(plain.source) and "skypilot" in added.source
    larger = catalog.price("gke", "n1-standard-8", "us-central1")
    both = catalog.price("gke", two, "us-central1")
    assert larger and both and both.on_demand == pytest.approx((larger.on_demand or 0) + 2 * 0.35)


def test_a_tpu_costs_by_its_chips() -> None:
    prices = [
        price.on_demand
        for count in (1, 4, 8)
        if (price := catalog.price("gke", catalog.offers("gke", "tpu-v5e", count)[0], "us-central1"))
    ]
    assert prices == pytest.approx([1.2, 4.8, 9.6])


def test_prices_as_their_lists_have_them() -> None:
    figures = {
        ("eks", "p5.48xlarge", "us-east-1"): 55.04,
        ("eks", "g4dn.xlarge", "us-west-2"): 0.526,
        ("eks", "m7i.2xlarge", "us-east-1"): 0.4032,
        ("eks", "m7i.2xlarge", "us-west-2"): 0.4032,
        ("eks", "m7i.2xlarge", "eu-west-1"): 0.4494,
        ("gke", "a2-highgpu-1g", "us-central1"): 3.6734,
        ("aks", "Standard_NC24ads_A100_v4", "eastus"): 3.673,
    }
    for (cloud, name, region), dollars in figures.items():
        price = catalog.price(cloud, name, region)
        assert price and price.on_demand == pytest.approx(dollars) and price.region == region


def test_no_figure_is_made_up() -> None:
    assert catalog.price("eks", "g4dn.xlarge", "nowhere") is None
    assert catalog.price("eks", "nothing", "us-east-1") is None
    assert catalog.price("eks", "p5e.48xlarge", "us-east-1") is None
    # P4 is not in this region, the N1 that it would be added to is.
    (machine, *_) = catalog.offers("gke", "p4", 1)
    assert catalog.price("gke", machine.name, "us-west4") and not catalog.price("gke", machine, "us-west4")


def test_where_things_are_sold() -> None:
    assert catalog.sold("eks", "g4dn.xlarge", "us-west-2") == tuple(f"us-west-2{letter}" for letter in "abcd")
    assert catalog.sold("gke", "a3-highgpu-8g", "us-east5") == ("us-east5-a",)
    assert catalog.sold("gke", catalog.offers("gke", "v100", 1)[0], "us-east1") == ("us-east1-c",)
    assert catalog.sold("gke", "n1-standard-4", "us-east1") == ("us-east1-b", "us-east1-c", "us-east1-d")
    assert catalog.sold("gke", "a2-highgpu-1g", "europe-north1") == ()
    assert catalog.sold("gke", catalog.offers("gke", "v100", 1)[0], "me-west1") == ()
    assert catalog.sold("aks", "Standard_ND96isr_H100_v5", "westindia") == ()
    assert catalog.sold("aks", "Standard_NC4as_T4_v3", "eastus") == ("1", "2", "3")


def test_what_is_not_known_is_not_said() -> None:
    """The newest spread faster than lists: that a list lacks a region does not mean that it sells none."""
    assert catalog.sold("eks", "p6-b200.48xlarge", "ap-south-2") is None
    assert catalog.sold("gke", "a4-highgpu-8g", "us-central1") is None
    assert catalog.sold("gke", catalog.offers("gke", "tpu-v6e", 1)[0], "me-west1") is None
    assert catalog.sold("eks", "nothing", "us-east-1") is None
    assert catalog.sold("eks", "g4dn.xlarge", "nowhere") is None
    assert catalog.zones("gke", "nowhere") == ()


def test_zones_are_not_a_b_c_everywhere() -> None:
    assert catalog.zones("eks", "ap-northeast-1") == ("ap-northeast-1a", "ap-northeast-1c", "ap-northeast-1d")
    assert catalog.zones("gke", "us-east1") == ("us-east1-b", "us-east1-c", "us-east1-d")
    assert catalog.zones("aks", "westus") == ()
    assert "us-west-1" in catalog.regions("eks") and catalog.zones("eks", "us-west-1") == ()


def test_nothing_is_read_at_import() -> None:
    program = (
        "import sys, builtins, pathlib; sys.path.insert(0, '.')\n"
        "pathlib.Path.open = None\n"
        "from tensorplane.components import catalog; print(len(catalog.ACCELERATORS), 'pydantic' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert shown.stdout == f"{len(catalog.ACCELERATORS)} False\n"


def test_azures_machines_with_a_part_of_an_mi25_are_gone_with_a_successor() -> None:
    gone = [name for name in catalog.WITHDRAWN_MACHINES if name.startswith("Standard_NV") and name.endswith("as_v4")]
    assert len(gone) == 4
    assert all(catalog.machine("aks", catalog.WITHDRAWN_MACHINES[name].successor) for name in gone)
