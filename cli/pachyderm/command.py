"""The program of a spec as the command of a stage."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from tensorplane.cli.pachyderm import variables
from tensorplane.cli.pachyderm.note import Note
from tensorplane.cli.pachyderm.spec import Spec, Transform

_SHELLS = ("sh", "bash", "ash", "dash")
_END = "END_OF_STDIN"
"""What ends the lines that a program reads, with underscores after it if they have this line themselves."""
_RECOVERED = f"rm -rf {' '.join(f'/pfs/out/{pattern}' for pattern in ('*', '.[!.]*', '..?*'))}"
_TEXTS: Sequence[tuple[str, str, str]] = (
    (
        r"\b(apt-get|apt|apk|yum|dnf|pip3?|conda) (install|add|update)\b",
        "installs packages, but the pod's files are read-only apart from /tmp and /pfs/out",
        "build them into the image",
    ),
    (r"\bln -s", "makes symbolic links, which datasets do not take", "use cp in place of ln -s"),
    (r"\bpachctl\b", "calls Pachyderm", "use `tensorplane data` outside of the pipeline, or remove it"),
    (
        rf"\b(PACHD?|PPS)_[A-Z_a-z]+|{variables.reading('[A-Za-z0-9_]+_COMMIT')}",
        "reads variables of Pachyderm, which are not set",
        "use params",
    ),
    (r"find /pfs(?: |$)", "looks through /pfs, whose other folder is /pfs/out", "name the inputs: find /pfs/NAME"),
)
"""What in a program's text works otherwise: pattern, what it does, what to do."""


def command(transform: Transform, before: Sequence[str], *, split: bool) -> list[str] | None:
    """The command of a stage; None if the spec has none. `before`: lines of the shell that run first; `split`: whether
    there may be several parts, of which any number may fail.
    """
    words, script = transform.cmd, transform.stdin
    if not words:
        return None
    after = _after(transform, recovers=skips_failed(transform) and not split)
    first = [*([f"cd {shlex.quote(transform.working_dir)} || exit"] if transform.working_dir else []), *before]
    if script and len(words) == 1 and PurePosixPath(words[0]).name in _SHELLS:
        body = [f"(\n{_lines(script)}\n)", *after] if after else script
        return [words[0], "-c", _lines([*first, *body])]
    program = f'"$0" "$@" {_document(script)}' if script else '"$0" "$@"'
    if after:
        return ["sh", "-c", _lines([*first, program, *after]), *words]
    return ["sh", "-c", _lines([*first, f"exec {program}"]), *words] if first or script else list(words)


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(lines)


def _document(script: Sequence[str]) -> str:
    """Lines that a program gets on its standard input."""
    text, end = _lines(script), _END
    while end in text.split("\n"):
        end += "_"
    return f"<<'{end}'\n{text}\n{end}"


def _after(transform: Transform, *, recovers: bool) -> list[str]:
    """Lines after the program, if some of its failures are none. `recovers`: whether it then has no result."""
    if not transform.accept_return_code and not recovers:
        return []
    codes = "|".join(f"{code}" for code in (0, *(transform.accept_return_code or ())))
    return [f"code=$?; case $code in {codes}) exit 0;; esac", _RECOVERED if recovers else "exit $code"]


def text_of(transform: Transform) -> str:
    """The program's words and lines."""
    return "\n".join([" ".join(transform.cmd or ()), *(transform.stdin or ())])


def notes(spec: Spec) -> Iterator[Note]:
    """What in the program works otherwise."""
    transform = spec.transform or Transform()
    if not transform.cmd:
        yield Note(
            spec.name,
            "transform.cmd",
            "is missing, so Pachyderm starts the image's own program",
            "set command to that program",
        )
    if transform.err_cmd and not skips_failed(transform):
        yield Note(
            spec.name,
            "transform.errCmd",
            "left out: nothing runs after a program that failed",
            "set mayFail to the parts that may have no result",
        )
    for field, text in (("cmd", " ".join(transform.cmd or ())), ("stdin", "\n".join(transform.stdin or ()))):
        for pattern, problem, remedy in _TEXTS:
            if re.search(pattern, text):
                yield Note(spec.name, f"transform.{field}", problem, remedy)


def skips_failed(transform: Transform) -> bool:
    """Whether `errCmd` always succeeds, so that datums may fail."""
    words = transform.err_cmd or []
    return not transform.err_stdin and [PurePosixPath(word).name for word in words] == ["true"]
