"""A dataset where it is: a pod that mounts its volume answers requests with `tensorplane.datasets`."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tensorplane.cli import options, stack_config, temporary_pod
from tensorplane.cli.access import Access
from tensorplane.cli.commands.cp import volume_pod
from tensorplane.cli.exec_stream import Exec
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PACKAGE
from tensorplane.stack import ResolvedStack
from tensorplane.stack_file.nearest import did_you_mean

SOURCES = "/volumes"
"""Folder of the pod with the volumes that it only reads."""
LIBRARY = "TENSORPLANE_DATASETS"
"""Variable of the pod with the modules that it runs (`library`)."""
_OF_LINEAGE = (
    *("content.py", "declared_lineage.py", "errors.py", "lineage.py", "provenance.py", "seeds.py", "version.py"),
)
# A module can be imported from an archive, and an archive of a pod whose file systems are read-only is in memory.
_START = (
    "import base64, os, runpy, sys; library = os.memfd_create('library'); "
    f"os.write(library, base64.b64decode(os.environ['{LIBRARY}'])); "
    "sys.path.insert(0, f'/proc/self/fd/{library}'); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
_NO_SOURCES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class DatasetOptions:
    """Which dataset of which stack."""

    dataset: str
    reference: str
    """Empty where the command names none."""
    stack: str
    context: str
    account: str

    @classmethod
    def of(cls, dataset: str, stack: str, account: str) -> DatasetOptions:
        """`dataset`: DATASET or DATASET@REFERENCE."""
        name, _, reference = dataset.partition("@")
        return cls(name, reference, stack, options.kubeconfig_context(), account)


@dataclass(frozen=True)
class Remote:
    """A dataset in a running pod."""

    api: Kube
    pod: str
    root: str
    args: DatasetArgs
    others: tuple[str, ...] = ()
    """Folders of the stack's other datasets on the same volume."""

    def write_request(self, name: str) -> dict[str, Any]:
        """What a request that writes says of the dataset, whose name this is."""
        volume = f"volume {self.args.volume}"
        return {**self.args.rules, "dataset": name, "others": self.others, "volume": volume}

    def ask(self, verb: str, request: Mapping[str, Any] | None = None) -> Any:
        """The answer to a request; None if it has none. A UserError if it is refused."""
        program = self.start(verb, request or {})
        return answer(program)

    def start(self, verb: str, request: Mapping[str, Any]) -> Exec:
        """A request that contents follow, or whose answer is contents."""
        program = Exec(self.api, self.pod, command("tensorplane.datasets", verb, self.root))
        program.write(json.dumps(request).encode() + b"\n")
        return program


def answer(program: Exec) -> Any:
    """The answer of a request that was sent."""
    return json.loads(program.finish() or b"null")


@contextmanager
def opened(opts: DatasetOptions, *, read_only: bool, sources: Mapping[str, str] = _NO_SOURCES) -> Iterator[Remote]:
    """The dataset that a command is about. `sources`: mount paths of other volumes."""
    resolved = stack_config.load(stack_config.file(opts.stack))
    args = declared(resolved, opts.dataset)
    access = Access.of(opts.stack, None, opts.context)
    with running(access.api, resolved, opts, args, read_only=read_only, sources=sources) as found:
        yield found


@contextmanager
def running(
    api: Kube,
    resolved: ResolvedStack,
    opts: DatasetOptions,
    args: DatasetArgs,
    *,
    read_only: bool,
    sources: Mapping[str, str] = _NO_SOURCES,
) -> Iterator[Remote]:
    """The same for a stack's settings and cluster."""
    env = {LIBRARY: library()}
    pod = volume_pod.of(resolved, args.volume, opts.account, read_only=read_only, env=env, sources=sources)
    with temporary_pod.running(api, pod) as found:
        path = f"{temporary_pod.pods_of(found['metadata']['namespace'])}/{found['metadata']['name']}"
        yield in_pod(api, path, resolved, opts.dataset)


def in_pod(api: Kube, pod: str, resolved: ResolvedStack, name: str) -> Remote:
    """A dataset in a running pod that mounts its volume. `pod`: its path in the API. UserError if it is unknown."""
    args = declared(resolved, name)
    folders = {
        each: f"{volume_pod.ROOT}/{one.folder(each)}"
        for each, one in resolved.config.datasets.items()
        if one.volume == args.volume
    }
    root = folders.pop(name)
    return Remote(api, pod, root, args, tuple(sorted(folders.values())))


def declared(resolved: ResolvedStack, name: str) -> DatasetArgs:
    """The settings of a dataset. A UserError if there is none of this name."""
    if args := resolved.config.datasets.get(name):
        return args
    names = sorted(resolved.config.datasets)
    remedy = f"choose one of {', '.join(names)}{did_you_mean(name, names)}" if names else "declare it under datasets"
    raise UserError(f"{name}: no dataset has this name; {remedy}")


def command(module: str, *words: str) -> list[str]:
    """What to run in the pod: a module of the library."""
    return ["python3", "-I", "-c", _START, module, *words]


def library() -> str:
    """The modules that the pod runs, as an archive in base64, the same for the same modules."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("tensorplane/__init__.py"), "")
        folder = PACKAGE
        for path in sorted([*(folder / "datasets").glob("*.py"), *(folder / name for name in _OF_LINEAGE)]):
            entry = zipfile.ZipInfo(f"tensorplane/{path.relative_to(folder).as_posix()}")
            archive.writestr(entry, path.read_text(), zipfile.ZIP_DEFLATED)
    return base64.b64encode(packed.getvalue()).decode()
