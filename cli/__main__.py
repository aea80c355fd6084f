"""`tensorplane COMMAND`: questions about a stack. Parses, calls, and turns faults into lines and exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from embedded import terminal
from embedded.fault import Fault
from embedded.hosts.stack_settings import StackSettings

if TYPE_CHECKING:
    from embedded.kube import Kube

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tensorplane", description="Questions about a stack of tensorplane.")
    commands = parser.add_subparsers(dest="command", required=True)
    asked = commands.add_parser("preview", help="what `pulumi up` would change, with the policies' verdicts")
    asked.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")
    asked.add_argument("--report", type=Path, default=Path("preview.md"), help="where the Markdown goes")
    asked.set_defaults(run=_preview)
    checked = commands.add_parser("check", help="what is wrong with a stack's settings, a line each")
    checked.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")
    checked.add_argument(
        "--cluster", action="store_true", help="ask the stack's cluster, too: classes, snapshots, sizes"
    )
    checked.set_defaults(run=_check)
    rented = commands.add_parser("catalog", help="accelerators and machines, where they are rented and at what price")
    rented.add_argument("--cloud", help="eks, gke or aks")
    rented.add_argument("--accelerator", help="one of them, such as t4, a100-80gb, tpu-v5e")
    rented.add_argument("--kind", help="gpu, tpu or cpu (default: gpu and tpu)")
    rented.add_argument("--min-memory", default="0", metavar="GIB", help="GiB that an accelerator has at least")
    rented.add_argument("--region", help="what is sold there, at its prices (default: the cheapest region's)")
    rented.add_argument("--withdrawn", action="store_true", help="what is gone, with what to use now")
    rented.add_argument("--json", action="store_true", help="every fact, with its source")
    rented.set_defaults(run=_catalog)
    exported = commands.add_parser("kops", help="a stack's node groups as kops' InstanceGroups, as YAML")
    exported.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")
    exported.add_argument("--cluster", help="the cluster's name in kops (default: the name of the context)")
    exported.add_argument("--image", help="image of the nodes (default: kops' own)")
    exported.add_argument("--driver", help="Ubuntu's package with the GPU driver (default: kops' own)")
    exported.set_defaults(run=_kops)
    kept = commands.add_parser("volumes", help="volumes, snapshots, mirrors and what is left of former volumes")
    kept.add_argument("name", nargs="?", help="a volume, for its snapshots, a line each")
    kept.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")
    kept.add_argument("--json", action="store_true", help="every fact, for programs")
    kept.add_argument(
        "--bring-back", action="store_true", help="objects that make VolumeSnapshotContent NAME a snapshot"
    )
    kept.set_defaults(run=_volumes)
    freed = commands.add_parser("unlock", help="remove the lock that a killed `pulumi` left on a stack")
    freed.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")
    freed.set_defaults(run=_unlock)
    _queues(commands)
    listed = commands.add_parser("settings", help="every key of a stack's settings, as Markdown")
    listed.set_defaults(run=_settings)
    return parser


def _queues(commands: _Commands) -> None:
    tiers = commands.add_parser("tiers", help="who gets which machines: sure, borrowed, never; from the settings alone")
    tiers.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")
    tiers.add_argument("--json", action="store_true", help="every fact, for programs")
    tiers.set_defaults(run=_tiers)
    why = commands.add_parser("why", help="why a job waits, runs or was stopped, and what would let it start")
    why.add_argument("job", help="a training job of the stack, a JobSet's name, or NAMESPACE/NAME of a team's")
    why.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")
    why.add_argument("--json", action="store_true", help="every fact, for programs")
    why.set_defaults(run=_why)
    top = commands.add_parser(
        "top",
        help="who has which cards now, by kind, queue and namespace; and how many waited, as a plot",
        epilog="The history is made of the times that Workloads keep: one that was deleted is missing, and of one that"
        " was stopped several times only the last is known. Prometheus has all of it.",
    )
    top.add_argument("--stack", default="dev", help="name of a Pulumi.<stack>.yaml (default: dev)")
    top.add_argument("--history", default="3", metavar="HOURS", help="how far back; 0 for no plot (default: 3)")
    top.add_argument("--json", action="store_true", help="every fact, for programs")
    top.set_defaults(run=_top)


def main() -> int:
    """Run the command; 0 when it worked, 1 after faults (printed, a line each), 130 after Ctrl-C."""
    args = _parser().parse_args()
    try:
        return int(args.run(args))
    except Fault as fault:
        print(*fault.lines, sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; nothing was changed.", file=sys.stderr)
        return 130


# What a command needs is imported when it runs: the whole stack takes a second.


def _preview(args: argparse.Namespace) -> int:
    from cli import preview

    return preview.run(args.stack, os.environ.get("TENSORPLANE_CONTEXT", ""), args.report, terminal.console())


def _check(args: argparse.Namespace) -> int:
    from cli import check

    file = StackSettings(args.stack, Path()).source()
    print(check.run(file, _api(args.stack) if args.cluster else None))
    return 0


def _api(stack: str) -> Kube:
    from embedded.target import Target

    return Target.of(os.environ.get("TENSORPLANE_CONTEXT", ""), stack=stack).api()


def _catalog(args: argparse.Namespace) -> int:
    from cli import catalog

    # Variables of make that were not set arrive as empty texts.
    filters = {key: getattr(args, key) or None for key in ("cloud", "accelerator", "kind", "region")}
    question = catalog.Question(
        **filters, min_memory=catalog.gibibytes(args.min_memory or "0"), withdrawn=args.withdrawn
    )
    catalog.run(question, args.json, terminal.console())
    return 0


def _kops(args: argparse.Namespace) -> int:
    from cli import kops

    choice = kops.Choice(args.cluster, args.image, args.driver)
    print(kops.text(StackSettings(args.stack, Path()).source(), choice), end="")
    return 0


def _volumes(args: argparse.Namespace) -> int:
    from cli import volumes

    context = os.environ.get("TENSORPLANE_CONTEXT", "")
    question = volumes.Question(args.stack, context, args.name, args.json, args.bring_back)
    volumes.run(question, terminal.console())
    return 0


def _unlock(args: argparse.Namespace) -> int:
    from cli import unlock

    print(unlock.run(args.stack, os.environ.get("TENSORPLANE_CONTEXT", "")))
    return 0


def _tiers(args: argparse.Namespace) -> int:
    from cli import tiers

    tiers.run(StackSettings(args.stack, Path()).source(), terminal.console(), as_json=args.json)
    return 0


def _why(args: argparse.Namespace) -> int:
    from cli import why

    context = os.environ.get("TENSORPLANE_CONTEXT", "")
    why.run(why.Question(args.job, args.stack, context, args.json), terminal.console())
    return 0


def _top(args: argparse.Namespace) -> int:
    from cli import top

    context = os.environ.get("TENSORPLANE_CONTEXT", "")
    top.run(top.Question(args.stack, context, args.history, args.json), terminal.console())
    return 0


def _settings(_: argparse.Namespace) -> int:
    from cli import settings_reference

    print(settings_reference.render(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
