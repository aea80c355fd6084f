"""What is wrong with a command of the documentation: a target, flag, module, file or program that is not there.

Nothing is run but `--help`. A program that no test of this project has is for readers alone; its block says why:
`<!-- not run: needs an AWS account -->`.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator

import click

from bench.__main__ import FIGURES
from tensorplane.cli import __main__ as tensorplane
from tests.support.documented import PROJECT, Command

_ORDINARY = ". [ cat cd cp curl diff echo export git grep mkdir openssl pip printf pytest read shred umask"
"""Programs that every machine for this project has, the shell's own included."""
_PLACEHOLDER = re.compile(r"…|\.\.\.|\b[A-Z]{2,}\b|\$|^[A-Z]$")
"""What a reader replaces: NAME, P, $URL, ….."""
_FILE = re.compile(r"(?:[\w.-]+/)*[\w-][\w.-]*\.(?:ya?ml|json|py|txt|toml|md|sh)")
_GENERATED = ("preview.md", "drift.md")
_FLAG = re.compile(r"(?:^|[\s,])(--?[a-zA-Z][\w-]*)")
_OURS = ("tensorplane", "bench", "tests")


def problems(command: Command, there: Collection[str] = ()) -> Iterator[str]:
    """What is wrong with a command, a line each. `there`: files that the reader has, or that earlier commands write."""
    check = _CHECKS.get(command.program)
    if check:
        yield from (f"{command}: {problem}" for problem in check(command))
    elif not command.not_run and not _is_known_program(command.program):
        yield f"{command}: {command.program} is a program that no test has; mark its block: <!-- not run: why -->"
    for part in (part for word in command.words[1:] for part in word.split("=")):
        is_named = _FILE.fullmatch(part) and not _PLACEHOLDER.search(part)
        if is_named and part not in (*there, *_GENERATED) and not (PROJECT / part).exists():
            yield f"{command}: no file {part}"


def _is_known_program(name: str) -> bool:
    """`pulumi` is asked itself, in tests/hosts."""
    return name in ("pulumi", *_ORDINARY.split()) or bool(_PLACEHOLDER.search(name))


def _make(command: Command) -> Iterator[str]:
    rules = (PROJECT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", rules, re.MULTILINE))
    variables = set(re.findall(r"\$\(([A-Z_]+)\)", rules)) | {"SHARD"}
    for word in command.words[1:]:
        name, given, value = word.partition("=")
        if not given:
            if word not in targets and not _PLACEHOLDER.search(word):
                yield f"no target {word}"
        elif name not in variables:
            yield f"no target reads {name}"
        elif name == "ONLY" and value not in FIGURES and not _PLACEHOLDER.search(value):
            yield f"no figure {value}"


def _tensorplane(command: Command) -> Iterator[str]:
    found: click.Command = tensorplane.tensorplane
    words = list(command.words[1:])
    try:
        while isinstance(found, click.Group) and words:
            context = click.Context(found)
            _, chosen, words = found.resolve_command(context, words)
            found = chosen or found
        # In a sentence, a command may lack what it needs.
        with click.Context(found, resilient_parsing=command.inline) as context:
            found.parse_args(context, words)
    except click.exceptions.Exit:
        return
    except click.ClickException as error:
        yield error.format_message()


def _python(command: Command) -> Iterator[str]:
    if "-m" not in command.words:
        return
    module, *rest = command.words[command.words.index("-m") + 1 :]
    if module.partition(".")[0] not in _OURS:
        if module not in ("pytest", "pip", "venv"):
            yield f"no module {module}"
        return
    root = PROJECT / "runtime" if module.startswith("tensorplane") else PROJECT
    path = root / module.replace(".", "/")
    if not (path / "__main__.py").exists() and not path.with_suffix(".py").exists():
        yield f"no module {module}"
        return
    words = [word for word in rest if not word.startswith("-")]
    flags = [word.partition("=")[0] for word in rest if word.startswith("-")]
    if flags:
        known = _flags((sys.executable, "-m", module, *(words[:1] if module == "tensorplane.embedded" else [])))
        yield from (f"no flag {flag}" for flag in flags if flag not in known)


@functools.cache
def _flags(argv: tuple[str, ...]) -> frozenset[str]:
    said = subprocess.run([*argv, "--help"], cwd=PROJECT, capture_output=True, text=True)
    return frozenset(_FLAG.findall(said.stdout))


_EVERYWHERE = ("-n", "--namespace", "--context", "--kubeconfig", "-h", "--help")
_CHOOSING = ("-l", "--selector", "-A", "--all-namespaces", "--all", "--field-selector")
_SHOWING = ("-o", "--output", "-w", "--watch", "--show-labels", "--sort-by", "--no-headers")
_VERBS: dict[str, tuple[str, ...]] = {
    "annotate": ("--overwrite", *_CHOOSING),
    "api-resources": ("--api-group",),
    "apply": ("-f", "-k", "--server-side", "--dry-run", "--force-conflicts"),
    "cluster-info": (),
    "config": (),
    "cp": ("-c",),
    "create": ("-f", "--from", "--from-file", "--from-literal", "--clusterrole", "--serviceaccount", "--dry-run", "-o"),
    "delete": ("--ignore-not-found", "--wait", "--cascade", "-f", *_CHOOSING),
    "describe": _CHOOSING,
    "drain": ("--ignore-daemonsets", "--delete-emptydir-data"),
    "events": ("--for",),
    "exec": ("-c", "-i", "-t", "-it", "--"),
    "get": (*_CHOOSING, *_SHOWING, "--raw"),
    "label": ("--overwrite", *_CHOOSING),
    "logs": ("-f", "-l", "-c", "--tail", "--prefix", "--previous", "--since", "--all-containers", "--ignore-errors"),
    "patch": ("-p", "--type", "--subresource"),
    "port-forward": (),
    "rollout": (),
    "scale": ("--replicas",),
    "taint": ("--overwrite",),
    "uncordon": (),
    "wait": ("--for", "--timeout"),
}
"""What the pages use of kubectl, with the flags of each verb: kubectl itself is not here to be asked."""
_VALUED = "-n --namespace --context --kubeconfig -l -o -f -p -c "
_VALUED += "--type --from-file --for --clusterrole --serviceaccount --tail --timeout --selector --sort-by"
_KINDS = """clusterqueue clusterrolebinding configmap cronjob csidriver daemonset deploy deployment event job jobset
localqueue namespace node pod priorityclass pv pvc persistentvolume persistentvolumeclaim replicationdestination
replicationsource resourceflavor secret service serviceaccount statefulset storageclass token volumesnapshot
volumesnapshotclass volumesnapshotcontent workload cephfilesystem"""
_NAMED = ("annotate", "create", "delete", "describe", "get", "label", "patch", "scale", "taint", "wait")
"""Verbs whose first word is a kind."""


def _kubectl(command: Command) -> Iterator[str]:
    words = list(command.words[1:])
    if "--" in words:
        words = words[: words.index("--")]
    plain = [word for before, word in zip(["", *words], words, strict=False) if before not in _VALUED.split()]
    flags = [word.partition("=")[0] for word in plain if word.startswith("-") and word != "-"]
    verb, *operands = [word for word in plain if not word.startswith("-")] or [""]
    if verb not in _VERBS:
        yield f"no verb {verb}, as far as the pages use kubectl"
        return
    yield from (f"no flag {flag} of {verb}" for flag in flags if flag not in (*_VERBS[verb], *_EVERYWHERE))
    if verb in _NAMED and operands and not _PLACEHOLDER.search(operands[0]):
        for kind in (each.partition("/")[0].partition(".")[0] for each in operands[0].split(",")):
            if not {kind, kind.removesuffix("s"), kind.removesuffix("es")} & set(_KINDS.split()):
                yield f"no kind {kind}"


_CHECKS: dict[str, Callable[[Command], Iterator[str]]] = {
    "make": _make,
    "tensorplane": _tensorplane,
    "python": _python,
    "python3": _python,
    "kubectl": _kubectl,
}
