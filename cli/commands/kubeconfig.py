"""`tensorplane kubeconfig`: the kubeconfig of a stack's cluster, for kubectl and every other client."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cli import options


def kubeconfig(stack: str, context: str) -> str:
    """The content. A Fault if there is none yet, or if the user's own kubeconfig has the cluster."""
    from driver import cloud_kubeconfig
    from driver.stack_settings import StackSettings
    from driver.target import Target
    from embedded.fault import Fault

    target = Target.of(context, stack=stack)
    StackSettings(stack, target.home).source()
    if target.cloud:
        return cloud_kubeconfig.of_stack(stack, target.environment())
    if target.context:
        file = f" --kubeconfig {target.kubeconfig}" if target.kubeconfig else ""
        raise Fault(
            f"stack {stack}: your kubeconfig has its cluster already; use: kubectl{file} --context {target.context}"
        )
    if not target.instance.kubeconfig.exists():
        raise Fault(f"stack {stack}: the embedded cluster was never started; start it with: make up")
    return target.instance.kubeconfig.read_text()


def write(text: str, file: Path) -> None:
    """Write it so that only its owner can read it."""
    from embedded.fault import Fault
    from embedded.hosts import whole_file

    try:
        if file.exists() and not file.is_file():
            raise Fault(f"{file}: is not a regular file; choose another with --output")
        whole_file.write(file, text, mode=0o600)
    except OSError as error:
        raise Fault(f"{file}: {error.strerror}; choose another file with --output") from None


@click.command("kubeconfig")
@options.stack
@click.option("--output", type=Path, metavar="FILE", help="File to write, readable only by its owner (mode 0600).")
def command(stack: str, output: Path | None) -> None:
    """The kubeconfig of a stack's cluster."""
    from embedded.fault import Fault

    if output is None and sys.stdout.isatty():
        raise Fault("--output: missing, and credentials are not printed to a terminal; name a file, or pipe the output")
    text = kubeconfig(stack, options.context())
    if output is None:
        print(text, end="" if text.endswith("\n") else "\n")
        return
    file = output.expanduser()
    write(text, file)
    print(f"{file}: the kubeconfig of stack {stack}; use it with: export KUBECONFIG={file}")
