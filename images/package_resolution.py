"""Resolves Python packages to versions and hashes for the training image, with pip and its configured index."""

from __future__ import annotations

import json
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tensorplane.core.errors import UserError
from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.images.base_python import BasePython
from tensorplane.images.training import BASE
from tensorplane.stack_file import package_lock

# Other machines on which the same lock should work: TensorFlow's wheels exist for these.
_OTHER_PYTHONS = ("3.11", "3.12", "3.13")
_MACHINES = ("x86_64", "aarch64")
_MANYLINUX = (39, 36, 35, 34, 31, 28, 27, 26, 24, 17)
_CONFLICT = "The conflict is caused by:"
_REASONS = re.compile(r"^ERROR: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class _Target:
    """The Python and the machine that wheels are chosen for."""

    python: str
    machine: str

    @property
    def options(self) -> list[str]:
        tags = [f"manylinux_2_{minor}_{self.machine}" for minor in _MANYLINUX] + [f"manylinux2014_{self.machine}"]
        return [
            *("--only-binary", ":all:", "--implementation", "cp", "--python-version", self.python),
            *(word for tag in tags for word in ("--platform", tag)),
        ]


def resolve(packages: Sequence[str], pins: Mapping[str, str], step: Step, keep: Iterable[str] = ()) -> tuple[str, ...]:
    """The packages with all that they require, in versions that fit the image's own `pins`: lines of a requirements
    file, sorted, without TensorFlow and what it requires, which every image has.

    `keep`: an earlier result, whose versions are taken again where they still fit. A UserError says what contradicts.
    Conditions on the version of Python are evaluated with this machine's.
    """
    with scratch("base") as base:
        BASE.layer(step).extract(base)
        target = _Target(BasePython(base).version, platform.machine())
    own = [f"{name}=={version}" for name, version in pins.items()]
    earlier = {line.split()[0]: line for line in keep}
    step.note(f"resolving {', '.join(packages)}")
    try:
        found = _report(packages, [*own, *earlier], target, step)
    except UserError:
        if not earlier:
            raise
        found = _report(packages, own, target, step)
    held = {_canonical(name) for name in pins} - package_lock.IMAGE_ONLY_PACKAGES
    added = {name: item for name, item in found.items() if _canonical(name.partition("==")[0]) not in held}
    return tuple(sorted(earlier.get(name) or _line(name, item, target, step) for name, item in added.items()))


def _line(name: str, item: Mapping[str, Any], target: _Target, step: Step) -> str:
    """A package with the hashes of its wheels: of the one that was found, and of those for other machines."""
    hashes = {_sha256(item)}
    if not item["download_info"]["url"].endswith("-none-any.whl"):
        step.note(f"hashes of {name}")
        others = [_Target(python, machine) for python in _OTHER_PYTHONS for machine in _MACHINES]
        with ThreadPoolExecutor(2) as pool:
            hashes.update(pool.map(lambda other: _other_hash(name, other, step), [o for o in others if o != target]))
    return " ".join([name, *(f"--hash=sha256:{digest}" for digest in sorted(hashes) if digest)])


def _other_hash(name: str, target: _Target, step: Step) -> str:
    try:
        return _sha256(_report([name], [], target, step, "--no-deps")[name])
    except UserError:
        return ""  # no wheel for it: there, pip says so


def _report(
    packages: Sequence[str], constraints: Sequence[str], target: _Target, step: Step, *more: str
) -> dict[str, dict[str, Any]]:
    """What pip would install, by `name==version`."""
    with scratch("resolve") as work:
        limits = work / "constraints.txt"
        limits.write_text("\n".join(constraints))
        report = work / "report.json"
        argv = [
            *(sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar"),
            *("off", "--dry-run", "--ignore-installed", "--target", str(work / "none"), *target.options, *more),
            *("--report", str(report), "--constraint", str(limits), "--", *packages),
        ]
        try:
            command(argv, step=Step(f"resolve {work.name}"), log=work / "log")
        except UserError as error:
            raise UserError(reason((work / "log").read_text()) or error.lines[0]) from None
        items = json.loads(report.read_text())["install"]
    return {f"{_canonical(item['metadata']['name'])}=={item['metadata']['version']}": item for item in items}


def reason(log: str) -> str:
    """pip's reason in one line; empty if it gave none."""
    if _CONFLICT in log:
        lines = log.partition(_CONFLICT)[2].partition("\n\n")[0].splitlines()
        causes = [re.sub(r"^The user requested (\(constraint\) )?", _cause, line.strip()) for line in lines if line]
        return f"packages: {', and '.join(dict.fromkeys(causes))}; choose versions that fit the training image's"
    reasons = _REASONS.findall(log)
    return f"packages: {reasons[0]}" if reasons else ""


def _cause(match: re.Match[str]) -> str:
    return "the training image has " if match[1] else "you ask for "


def _sha256(item: Mapping[str, Any]) -> str:
    return str(item["download_info"]["archive_info"]["hashes"]["sha256"])


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
