"""Where datasets are."""

from collections.abc import Mapping

from components.datasets.settings import DatasetArgs


def by_volume(datasets: Mapping[str, DatasetArgs]) -> dict[str, dict[str, str]]:
    """The folder of each dataset, from the root of its volume, by volume and dataset."""
    found: dict[str, dict[str, str]] = {}
    for name, args in datasets.items():
        found.setdefault(args.volume, {})[name] = args.folder(name)
    return found
