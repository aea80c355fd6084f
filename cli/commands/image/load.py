"""`tensorplane image load`: an archive with images, into the embedded cluster."""

from __future__ import annotations

import argparse

from driver import terminal
from embedded import cluster
from embedded.fault import Fault
from embedded.images import archive
from embedded.paths import Instance
from embedded.progress import Progress


def run(args: argparse.Namespace) -> None:
    """Import it into the running cluster, under the names that pods use."""
    names = [archive.full(args.name)] if args.name else archive.names(args.archive)
    if not names:
        raise Fault(f"{args.archive}: names no image; set a name with --name, such as --name team/trainer:1")
    instance = Instance.current()
    with Progress(terminal.console()) as progress, progress.step("load image") as step:
        cluster.load_archive(instance, args.archive, names, step, rename=bool(args.name))
    for name in names:
        print(f"{name}: in the embedded cluster; set it as `image` of a workload")
