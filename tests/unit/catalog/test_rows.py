"""What holds for every row of the catalog."""

import datetime
import re

import pytest

from tensorplane.components import catalog
from tensorplane.components.catalog import Accelerator, Cloud, Machine, Withdrawn, files
from tests.support.rendering import PROJECT

CLOUDS = catalog.clouds()
# What is known of the clouds that have full lists of machines and prices; a new cloud may have less.
IMAGES = {
    "eks": {"AL2023_x86_64_STANDARD", "AL2023_ARM_64_STANDARD", "AL2023_x86_64_NVIDIA", "AL2023_ARM_64_NVIDIA"},
    "gke": {"COS_CONTAINERD"},
    "aks": {"Ubuntu"},
}

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


def test_every_fact_names_its_source() -> None:
    rows: list[Accelerator | Withdrawn | Machine] = [
        *catalog.ACCELERATORS.values(),
        *catalog.WITHDRAWN.values(),
        *catalog.WITHDRAWN_MACHINES.values(),
        *(machine for cloud in CLOUDS for machine in files.machines(cloud)),
    ]
    assert len(rows) > 900
    # A page or a repository, and not a word of ours.
    assert all(re.search(r"[a-z]+\.[a-z]{2,}/|\w+/[\w-]+@|MicrosoftDocs/", row.source) for row in rows)


def test_accelerators_are_in_the_order_of_their_years_and_named_once() -> None:
    for kind in ("gpu", "tpu"):
        years = [card.year for card in catalog.ACCELERATORS.values() if card.kind == kind]
        assert years == sorted(years)
    products = [card.product for card in catalog.ACCELERATORS.values()]
    assert len(set(products)) == len(products)
    assert all(name == card.name == name.lower() for name, card in catalog.ACCELERATORS.items())


def test_labels_out_of_the_catalog_are_labels() -> None:
    for card in catalog.ACCELERATORS.values():
        for value in (card.name, card.product, card.architecture, str(card.year)):
            assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", value)


def test_mig_profiles_fit_into_their_card() -> None:
    able = [card for card in catalog.ACCELERATORS.values() if card.mig]
    assert {"a100-40gb", "h200"} <= {card.name for card in able}
    for card in able:
        assert len(card.mig) == len(card.mig_instances) == len(set(card.mig))
        for profile in card.mig:
            slices, memory = map(int, re.fullmatch(r"([1-7])g\.(\d+)gb", profile).groups())  # type: ignore[union-attr]
            instances = card.instances(profile)
            assert 1 <= instances <= 7 // slices
            # NVIDIA rounds each instance's memory up.
            assert instances * memory <= card.memory_gib + instances
        assert card.instances("9g.1gb") == 0


def test_only_gpus_are_shared_and_have_a_compute_capability() -> None:
    for card in catalog.ACCELERATORS.values():
        gpu = card.kind == "gpu"
        assert (card.compute_capability is not None) == card.mps == card.time_slicing == gpu
        assert gpu or not (card.nvlink or card.mig)


def test_tensorflow_runs_from_6_0_up_to_hopper_and_not_on_arm() -> None:
    for card in catalog.ACCELERATORS.values():
        if card.compute_capability:
            arches = {m.arch for cloud in CLOUDS for m in files.machines(cloud) if m.accelerator == card.name}
            assert card.tensorflow == (6.0 <= float(card.compute_capability) < 10 and arches == {"amd64"})


def test_every_accelerator_is_rented_somewhere_and_no_machine_has_another() -> None:
    rented = {machine.accelerator for cloud in CLOUDS for machine in files.machines(cloud)}
    assert rented - {None} == set(catalog.ACCELERATORS)
    assert not set(catalog.WITHDRAWN) & set(catalog.ACCELERATORS)


def test_what_succeeds_the_withdrawn_exists() -> None:
    machines = {name for cloud in CLOUDS for name in catalog.machine_names(cloud)}
    for gone in catalog.WITHDRAWN.values():
        assert gone.successor in catalog.ACCELERATORS
    for name, gone in catalog.WITHDRAWN_MACHINES.items():
        assert name == gone.name and name not in machines
        assert gone.successor in machines
        assert gone.reason


@every_cloud
def test_a_machine_is_told_once_for_each_number_of_accelerators(cloud: Cloud) -> None:
    machines = files.machines(cloud)
    keys = [(machine.name, machine.accelerator, machine.count) for machine in machines]
    assert len(set(keys)) == len(keys)
    # Only machines that accelerators are added to come more than once.
    apart = [machine.name for machine in machines if not machine.attached]
    assert len(set(apart)) == len(apart)
    assert set(catalog.machine_names(cloud)) == set(apart)


@every_cloud
def test_machines_are_whole(cloud: Cloud) -> None:
    for machine in files.machines(cloud):
        assert machine.vcpus >= 1 and machine.memory_gib > 0
        assert machine.image in IMAGES.get(cloud, {machine.image})
        assert (machine.count > 0) == (machine.accelerator is not None)
        assert "metal" not in machine.name
        if cloud == "eks":
            assert ("ARM" in machine.image) == (machine.arch == "arm64")
            assert ("NVIDIA" in machine.image) == (machine.accelerator is not None)
        if cloud == "gke":
            assert (machine.cloud_accelerator is not None) == (machine.accelerator is not None)
            assert machine.attached <= machine.name.startswith("n1-")
        assert (machine.topology is not None) == (machine.accelerator or "").startswith("tpu-")
        if machine.topology:
            chips = 1
            for side in machine.topology.split("x"):
                chips *= int(side)
            assert chips == machine.count


@every_cloud
def test_offers_and_counts_agree(cloud: Cloud) -> None:
    for name in catalog.ACCELERATORS:
        for count in catalog.counts(cloud, name):
            found = catalog.offers(cloud, name, count)
            assert found
            assert all((machine.accelerator, machine.count) == (name, count) for machine in found)
            assert list(found) == sorted(found, key=lambda machine: (machine.vcpus, machine.memory_gib))
        assert catalog.offers(cloud, name, 13) == ()
    assert catalog.counts(cloud, "nothing") == ()


@every_cloud
def test_prices_are_positive_dated_and_of_machines_and_regions_that_exist(cloud: Cloud) -> None:
    names, regions = set(catalog.machine_names(cloud)), set(catalog.regions(cloud))
    total = 0
    assert {line["region"] for line, _ in files.rows(files.DATA / cloud / "prices.csv")} <= regions
    for region in regions:
        for name, figures in files.prices(cloud, region).items():
            assert name in names
            assert figures.on_demand is not None and 0 < figures.on_demand < 400
            assert datetime.date.fromisoformat(figures.date) > datetime.date(2024, 10, 1)
            assert datetime.date.fromisoformat(figures.spot_date) > datetime.date(2025, 1, 1)
            assert figures.source and figures.spot_source
            total += 1
    assert total > (700 if cloud in IMAGES else 0)


@every_cloud
def test_spot_is_always_cheaper_than_on_demand(cloud: Cloud) -> None:
    pairs = [
        (figures.spot, figures.on_demand)
        for region in catalog.regions(cloud)
        for figures in files.prices(cloud, region).values()
        if figures.spot is not None and figures.on_demand
    ]
    assert len(pairs) > (5000 if cloud in IMAGES else -1)
    assert all(0 < spot < on_demand for spot, on_demand in pairs)


def test_what_is_added_is_cheaper_as_spot() -> None:
    each = [local.figures for by_region in files.locals_of("gke").values() for local in by_region.values()]
    assert all(0 < f.spot < f.on_demand for f in each if f.spot and f.on_demand)


@pytest.mark.parametrize(
    ("cloud", "machine"), [("eks", "g4dn.xlarge"), ("gke", "g2-standard-4"), ("aks", "Standard_NC4as_T4_v3")]
)
def test_a_spot_price_has_the_day_of_its_own_source(cloud: Cloud, machine: str) -> None:
    """On EKS and AKS it is of another list than the price on demand, and where that has none there is none."""
    found = [price for region in catalog.regions(cloud) if (price := catalog.price(cloud, machine, region))]
    assert any(price.spot for price in found)
    for price in found:
        assert (price.spot is None) == (price.spot_date is None) == (price.spot_source is None)
        assert price.spot is None or (price.spot_source != price.source) == (cloud != "gke")


@every_cloud
def test_zones_are_those_of_their_region(cloud: Cloud) -> None:
    for region in catalog.regions(cloud):
        for zone in catalog.zones(cloud, region):
            patterns = {"eks": rf"{region}[a-f]", "gke": rf"{region}-[a-f]", "aks": "[123]"}
            assert re.fullmatch(patterns.get(cloud, ".+"), zone)


@every_cloud
def test_what_is_sold_is_sold_in_zones_of_the_region(cloud: Cloud) -> None:
    for region in catalog.regions(cloud):
        known = set(catalog.zones(cloud, region))
        for machine in files.machines(cloud):
            zones = catalog.sold(cloud, machine, region)
            if zones and known:
                assert set(zones) <= known, (machine.name, region)


@every_cloud
def test_what_has_a_price_is_sold(cloud: Cloud) -> None:
    for machine in files.machines(cloud):
        for region in catalog.regions(cloud):
            if catalog.price(cloud, machine, region):
                assert catalog.sold(cloud, machine, region) != (), (machine.name, region)


def test_accelerators_without_any_price_are_those_that_the_documentation_names() -> None:
    without = {name for name in catalog.ACCELERATORS if not any(_priced(machine) for machine in _with(name))}
    page = (PROJECT / "docs" / "catalog.md").read_text()
    [named] = re.findall(r"without a list price anywhere: ([^.]+)\.", " ".join(page.split()))
    assert set(re.findall(r"`([^`]+)`", named)) == without


def _with(accelerator: str) -> list[Machine]:
    return [machine for cloud in CLOUDS for machine in files.machines(cloud) if machine.accelerator == accelerator]


def _priced(machine: Machine) -> bool:
    return any(catalog.price(machine.cloud, machine, region) for region in catalog.regions(machine.cloud))


@pytest.mark.parametrize(
    ("cloud", "name", "arch"),
    [
        ("eks", "i4i.2xlarge", "amd64"),
        ("eks", "m6id.4xlarge", "amd64"),
        ("eks", "c7gn.xlarge", "arm64"),
        ("gke", "c4a-highcpu-8", "arm64"),
        ("aks", "Standard_D8ads_v5", "amd64"),
        ("aks", "Standard_D8pds_v6", "arm64"),
        ("aks", "Standard_E8ds_v5", "amd64"),
        ("aks", "Standard_L8s_v3", "amd64"),
    ],
)
def test_machines_with_local_disks_and_fast_networks_are_known(cloud: Cloud, name: str, arch: str) -> None:
    machine = catalog.machine(cloud, name)
    assert machine
    assert (machine.accelerator, machine.arch) == (None, arch)


def test_no_file_is_larger_than_a_review_bears() -> None:
    sizes = {path: path.stat().st_size for path in files.DATA.rglob("*.csv")}
    assert {"eks", "gke", "aks"} <= {path.parent.name for path in sizes}
    assert max(sizes.values()) < 600_000
