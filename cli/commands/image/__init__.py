"""`tensorplane image`: images of training jobs, without Docker: locked packages, archives, registries."""

from __future__ import annotations

import argparse
from pathlib import Path

from cli.command import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True)
    _lock(actions.add_parser("lock", help="resolve the jobs' packages to versions and hashes, in packages.lock"))
    _build(actions.add_parser("build", help="the training image with packages, as an archive or in a registry"))
    _load(actions.add_parser("load", help="import an archive, of any language's image, into the embedded cluster"))


def _lock(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions, also of what is locked")


def _build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--packages", nargs="+", default=[], metavar="PACKAGE", help="such as pandas==2.2.3")
    parser.add_argument("--requirements", type=Path, metavar="FILE", help="packages as pip's requirements file")
    parser.add_argument("--gpu", action="store_true", help="for NVIDIA GPUs: about 3.5 GB of TensorFlow and CUDA")
    parser.add_argument("--lock", type=Path, metavar="FILE", help="write the resolved packages, for --requirements")
    parser.add_argument("--push", metavar="REF", help="push it: registry.example/team/train:1")
    parser.add_argument("--output", type=Path, metavar="ARCHIVE", help="write it as an OCI archive")
    parser.add_argument("--name", metavar="REF", help="its name in the archive (default: that of --push)")


def _load(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("archive", type=Path, help="an OCI archive, or that of `docker save`")
    parser.add_argument("--name", metavar="REF", help="the image's name for pods, if the archive has none")


def _run(args: argparse.Namespace) -> int:
    from cli.commands.image import build, load, lock

    actions = {"lock": lock.run, "build": build.run, "load": load.run}
    actions[args.action](args)
    return 0


COMMAND = Command("images of training jobs: lock packages, build, push, load", _arguments, _run)
