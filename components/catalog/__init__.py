"""The hardware catalog: which accelerators exist, which machines carry them, where they are sold and at what price."""

from collections.abc import Mapping

from components.catalog.rows import Accelerator, Cloud, Machine, Price, Withdrawn

__all__ = [
    "ACCELERATORS",
    "WITHDRAWN",
    "WITHDRAWN_MACHINES",
    "Accelerator",
    "Cloud",
    "Machine",
    "Price",
    "Withdrawn",
    "counts",
    "machine",
    "machine_names",
    "offers",
    "price",
    "regions",
    "sold",
    "zones",
]

_ROWS: tuple[Accelerator, ...] = (
    Accelerator("t4", "gpu", "Tesla-T4", "turing", 2018, 16, "7.5", False, True, True, (), True, "clouds.md"),
    Accelerator(
        "h100-80gb",
        "gpu",
        "NVIDIA-H100-80GB-HBM3",
        "hopper",
        2022,
        80,
        "9.0",
        True,
        True,
        True,
        ("1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"),
        True,
        "clouds.md",
    ),
    Accelerator(
        "tpu-v5e", "tpu", "tpu-v5-lite-podslice", "tpu-v5e", 2023, 16, None, False, False, False, (), True, "clouds.md"
    ),
)
_MACHINES: tuple[Machine, ...] = (
    Machine(
        "eks", "g4dn.xlarge", 4, 16, "amd64", "t4", 1, None, False, "AL2023_x86_64_NVIDIA", 0, None, None, "clouds.md"
    ),
    Machine(
        "eks",
        "p5.48xlarge",
        192,
        2048,
        "amd64",
        "h100-80gb",
        8,
        None,
        False,
        "AL2023_x86_64_NVIDIA",
        32,
        "RDMA",
        None,
        "clouds.md",
    ),
    Machine(
        "eks", "m7i.2xlarge", 8, 32, "amd64", None, 0, None, False, "AL2023_x86_64_STANDARD", 0, None, None, "clouds.md"
    ),
    Machine(
        "gke",
        "n1-standard-4",
        4,
        15,
        "amd64",
        "t4",
        1,
        "nvidia-tesla-t4",
        True,
        "COS_CONTAINERD",
        0,
        None,
        None,
        "clouds.md",
    ),
    Machine(
        "gke",
        "a3-highgpu-8g",
        208,
        1872,
        "amd64",
        "h100-80gb",
        8,
        "nvidia-h100-80gb",
        False,
        "COS_CONTAINERD",
        0,
        "TCPX",
        None,
        "clouds.md",
    ),
    Machine(
        "gke",
        "ct5lp-hightpu-4t",
        112,
        192,
        "amd64",
        "tpu-v5e",
        4,
        "tpu-v5-lite-podslice",
        False,
        "COS_CONTAINERD",
        0,
        None,
        "2x2",
        "clouds.md",
    ),
    Machine("gke", "n2-standard-8", 8, 32, "amd64", None, 0, None, False, "COS_CONTAINERD", 0, None, None, "clouds.md"),
    Machine("aks", "Standard_NC4as_T4_v3", 4, 28, "amd64", "t4", 1, None, False, "Ubuntu", 0, None, None, "clouds.md"),
    Machine("aks", "Standard_D8s_v5", 8, 32, "amd64", None, 0, None, False, "Ubuntu", 0, None, None, "clouds.md"),
)

ACCELERATORS: Mapping[str, Accelerator] = {row.name: row for row in _ROWS}
WITHDRAWN: Mapping[str, Withdrawn] = {}
WITHDRAWN_MACHINES: Mapping[str, Withdrawn] = {}


def machine(cloud: Cloud, name: str) -> Machine | None:
    """A machine type by its name in the cloud."""
    return next((row for row in _MACHINES if row.cloud == cloud and row.name == name), None)


def machine_names(cloud: Cloud) -> tuple[str, ...]:
    """Every machine type of a cloud."""
    return tuple(row.name for row in _MACHINES if row.cloud == cloud)


def offers(cloud: Cloud, accelerator: str, per_node: int) -> tuple[Machine, ...]:
    """The machines with exactly this many of an accelerator, the smallest first."""
    found = (row for row in _MACHINES if (row.cloud, row.accelerator, row.count) == (cloud, accelerator, per_node))
    return tuple(sorted(found, key=lambda row: (row.vcpus, row.memory_gib)))


def counts(cloud: Cloud, accelerator: str) -> tuple[int, ...]:
    """How many of an accelerator one machine of the cloud can have."""
    return tuple(sorted({row.count for row in _MACHINES if (row.cloud, row.accelerator) == (cloud, accelerator)}))


def price(cloud: Cloud, name: str, region: str) -> Price | None:
    """List price of a machine in a region; None where the catalog has none."""
    return None


def regions(cloud: Cloud) -> tuple[str, ...]:
    """The cloud's regions that the catalog knows."""
    return ()


def zones(cloud: Cloud, region: str) -> tuple[str, ...]:
    """Full names of a region's zones; none where the catalog does not know them."""
    return ()


def sold(cloud: Cloud, name: str, region: str) -> tuple[str, ...] | None:
    """The zones of a region that sell a machine, none where the region does not; None where that is not known."""
    return None
