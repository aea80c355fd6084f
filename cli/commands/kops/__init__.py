"""`tensorplane kops`: the node groups of a stack as kops' InstanceGroups, one YAML document each."""

from __future__ import annotations

import argparse

from cli.command import Command, add_stack


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    parser.add_argument("--cluster", help="the cluster's name in kops (default: the name of the context)")
    parser.add_argument("--image", help="image of the nodes (default: kops' own)")
    parser.add_argument("--driver", help="Ubuntu's package with the GPU driver (default: kops' own)")


def _run(args: argparse.Namespace) -> int:
    from cli import stack_config
    from cli.commands.kops import instance_groups

    choice = instance_groups.Choice(args.cluster, args.image, args.driver)
    print(instance_groups.text(stack_config.file(args.stack), choice), end="")
    return 0


COMMAND = Command("a stack's node groups as kops' InstanceGroups, as YAML", _arguments, _run)
