"""Checks of `files`: missing sources, conflicting targets, the size limit of a ConfigMap."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from components.base.faults import Fault, Key, did_you_mean
from workloads import sources

LIMIT_BYTES = 1024 * 1024
"""Size limit of a ConfigMap."""


def faults(files: Mapping[str, str], at: Key) -> Iterator[Fault]:
    """Faults of a `files` map: missing sources, targets inside each other, total size."""
    sizes: dict[str, int] = {}
    for target, source in files.items():
        try:
            sizes[target] = _size(sources.located(source))
        except OSError as error:
            yield Fault((*at, target), f"{source}: {error.strerror or error}")
        for other in files:
            if target.startswith(f"{other}/"):
                yield Fault((*at, target), f"{other!r} is a file, so nothing can be inside it; use another path")
    if sum(sizes.values()) > LIMIT_BYTES:
        largest = max(sizes, key=sizes.__getitem__)
        yield Fault(
            at,
            f"the files have {sum(sizes.values())} bytes, more than the {LIMIT_BYTES} of a ConfigMap (largest: "
            f"{largest}); "
            "put data on a volume or into the image",
        )


def _size(path: Path) -> int:
    """Size of a file in bytes. Raises OSError with the reason if there is none."""
    if path.is_dir():
        raise IsADirectoryError("is a directory; name a file in it")
    if not path.is_file():
        raise FileNotFoundError(f"no such file; correct the path, which is relative to the project{_near(path)}")
    return path.stat().st_size


def _near(path: Path) -> str:
    siblings = [child.name for child in path.parent.iterdir() if child.is_file()] if path.parent.is_dir() else []
    return did_you_mean(path.name, siblings)
