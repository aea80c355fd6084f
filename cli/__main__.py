"""The command `tensorplane`: questions about a stack. Parses, runs the command, and maps errors to exit codes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

import click

from tensorplane import version
from tensorplane.cli import registry
from tensorplane.driver import crash_reports, exit_codes

_NAME = "tensorplane"
_COLLECTED_AFTER = 500_000
"""New objects after which garbage is looked for: a list of a thousand jobs has millions, all in use, and to look at
them again and again takes as long as to parse them."""


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"tensorplane {version.__version__}")
        ctx.exit()


@click.group(cls=registry.Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def tensorplane() -> None:
    """TensorFlow on Kubernetes: what a stack declares, and what runs there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0 on success, 1 after problems (printed, a line each), 2 for an unknown usage,
    130 after Ctrl-C.
    """
    gc.set_threshold(_COLLECTED_AFTER)
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return int(tensorplane.main(words, prog_name=_NAME, standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("Interrupted; nothing was changed.", file=sys.stderr)
        return 130
    except Exception as error:
        print(*exit_codes.error_lines(_typed(words), error), sep="\n", file=sys.stderr)
        return 1


def _typed(words: Sequence[str]) -> str:
    """The command, without its arguments, which may be secret."""
    return f"{_NAME} {words[0]}" if words and words[0] in registry.names() else _NAME


def run() -> int:
    """As `main`, for a process of its own: an exception that ends a thread is one line, too."""
    crash_reports.report_threads(_typed(sys.argv[1:]))
    return main()


if __name__ == "__main__":
    sys.exit(run())
