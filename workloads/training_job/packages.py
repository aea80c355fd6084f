"""The packages of a job: as they are locked in the project, and checks of them."""

from collections.abc import Iterator, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.core.paths import PROJECT
from tensorplane.stack_file import package_lock
from tensorplane.workloads.training_job.settings import JobSettings


def locked(packages: Sequence[str]) -> tuple[str, ...]:
    """The locked lines of these packages, with hashes; empty for packages that are not locked."""
    return package_lock.read(PROJECT).locked(packages) or () if packages else ()


def image(base: str, packages: Sequence[str]) -> str:
    """The image that adds the locked packages to `base`, the project's own training image.

    `base` itself for packages that are not locked: the checks refuse them.
    """
    lines = locked(packages)
    return package_lock.image_name(base, package_lock.lines_not_in_base(lines))


def check_packages(settings: JobSettings, at: Key, cluster: ClusterArgs) -> Iterator[Problem]:
    """Problems of a job's packages. `at`: the job's path."""
    if not settings.packages:
        return
    path = (*at, "packages")
    if settings.image is not None:
        reason = "is set, and so is image, which must contain all packages; remove one of them"
        yield Problem(path, reason, given=((*at, "image"),))
    elif missing := [] if cluster.images.built_here else list(_missing(settings)):
        build = "tensorplane image build --push REGISTRY/NAME:TAG " + " ".join(settings.packages)
        reason = f"is set, and on this cluster the pods install them; {' and '.join(missing)}"
        given = (("cluster",), (*at, "checkpoints"), (*at, "egress"))
        yield Problem(path, f"{reason}, or set image, built with: {build}", given=given)
    else:
        found = [*_repeated(settings.packages, path), *_contradictions(settings.packages, path)]
        yield from found or _unlocked(settings.packages, path)


def _missing(settings: JobSettings) -> Iterator[str]:
    """What pods lack that install packages."""
    if settings.checkpoints is None and settings.model is None:
        yield "set checkpoints or model, on whose volume they are kept"
    if not settings.egress:
        yield "set egress: internet, or the addresses of your index"


def _repeated(packages: list[str], path: Key) -> Iterator[Problem]:
    positions: dict[str, int] = {}
    for position, name in enumerate(canonicalize_name(Requirement(package).name) for package in packages):
        if name in positions:
            yield Problem(
                (*path, str(position)), f"{name} is also in position {positions[name]}; merge the two into one item"
            )
        positions.setdefault(name, position)


def _contradictions(packages: list[str], path: Key) -> Iterator[Problem]:
    """Packages of the training image in other versions; its TensorFlow may not work with them."""
    held = {canonicalize_name(name): version for name, version in package_lock.pins().items()}
    for position, requirement in enumerate(map(Requirement, packages)):
        version = held.get(canonicalize_name(requirement.name))
        if version and not requirement.specifier.contains(version, prereleases=True):
            reason = f"the training image has {requirement.name} {version}, with which its TensorFlow works"
            yield Problem((*path, str(position)), f"{reason}; remove the item, or build an image of your own")


def _unlocked(packages: list[str], path: Key) -> Iterator[Problem]:
    try:
        lock = package_lock.read(PROJECT)
    except ValueError as error:
        yield Problem(path, str(error))
        return
    if lock.locked(packages) is None:
        yield Problem(path, f"not in {package_lock.FILE}; {package_lock.REMEDY}")
    elif lock.base_image_hash != package_lock.base_image_hash():
        reason = f"{package_lock.FILE} was written for a training image with other packages"
        yield Problem(path, f"{reason}; {package_lock.REMEDY}")
