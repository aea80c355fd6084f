"""Each command that the documentation shows is one: its target, flags, module and files are there.

What nobody here can know, its block says: `<!-- not run: needs an AWS account -->`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.checked_commands import problems
from tests.support.documented import SHELL, Command, blocks, commands, on_pages, parsed, script, texts

_LANGUAGES = (*SHELL, "yaml", "yaml fragment", "python", "json", "text", "diff", "mermaid")


def _readers(text: str) -> Iterator[str]:
    """Files that a page makes its reader write: a block begins with their name, or the line before it ends with it."""
    yield from re.findall(r"^ *```\w+.*\n *# ([\w./-]+)$", text, re.MULTILINE)
    yield from re.findall(r"`([\w./-]+)`[^`\n]*:\n\n *```", text)


def _problems(text: str) -> list[str]:
    found: list[str] = []
    there = set(_readers(text))
    for command in commands(text):
        there |= {*command.writes, *(command.words[-1:] if command.program in ("cp", "mv") else ())}
        found += problems(command, there)
    return found


def test_every_command_is_there() -> None:
    assert on_pages(_problems) == []


def test_every_block_says_what_it_is() -> None:
    """So that no command hides in a block that nobody reads as one."""
    found = {block.language for text in texts().values() for block in blocks(text)}
    assert found <= set(_LANGUAGES)
    hidden = re.compile(r"(\$ |make |kubectl |pulumi |tensorplane |python -m|\. |export )")
    assert (
        on_pages(lambda page: [one.text for one in blocks(page) if one.language == "text" and hidden.match(one.text)])
        == []
    )


def test_every_block_of_commands_is_one_for_the_shell() -> None:
    assert on_pages(_not_for_the_shell) == []


def _not_for_the_shell(page: str) -> Iterator[str]:
    for block in blocks(page):
        if block.language in SHELL:
            done = subprocess.run(["bash", "-n"], input=script(block), capture_output=True, text=True)
            if (done.returncode, done.stderr) != (0, ""):
                yield f"{done.stderr}\n{block.text}"


def test_a_page_says_where_kubectl_finds_the_embedded_cluster() -> None:
    """Activating the environment does not: without KUBECONFIG, kubectl asks localhost:8080."""
    assert on_pages(_asks_before) == []


def _asks_before(page: str) -> Iterator[str]:
    before, asks, _ = page.partition("kubectl -n tensorplane-dev")
    if asks and "KUBECONFIG" not in before:
        yield f"{asks} before KUBECONFIG"


def test_the_pages_have_commands() -> None:
    programs = {command.program for text in texts().values() for command in commands(text)}
    assert {"make", "pulumi", "kubectl", "tensorplane", "python"} <= programs


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("make uppp", "no target uppp"),
        ("make up COLOR=red", "no target reads COLOR"),
        ("make bench ONLY=nothing", "no figure nothing"),
        ("tensorplane whyy search", "No such command 'whyy'"),
        ("tensorplane why search --loud", "No such option '--loud'"),
        (".venv/bin/tensorplane tiers --stack", "requires an argument"),
        ("python -m embeded up", "no module embeded"),
        ("python -m embedded.nothing", "no module embedded.nothing"),
        ("tensorplane purge --quietly", "No such option '--quietly'"),
        ("kubectl fetch pods", "no verb fetch"),
        ("kubectl -n a get podz", "no kind podz"),
        ("kubectl get pods --loud", "no flag --loud of get"),
        ("cp examples/nothing.yaml Pulumi.mine.yaml", "no file examples/nothing.yaml"),
        ("tensorplane check && pulumi up --policy-pack-config=policies/nothing.json", "no file policies/nothing.json"),
        ("cat \\\n  nothing.txt", "no file nothing.txt"),
        ('sudo mount "$(kubectl get podz -o name)"', "no kind podz"),
        ("az group list", "az is a program that no test has"),
    ],
)
def test_what_is_made_up_is_found(text: str, problem: str) -> None:
    assert any(problem in found for found in _problems(f"```sh\n{text}\n```\n")), _problems(f"```sh\n{text}\n```\n")


@pytest.mark.parametrize(
    "code", ["make uppp STACK=dev", "tensorplane whyy x", "kubectl get podz", "python -m embeded up"]
)
def test_commands_in_sentences_are_looked_at(code: str) -> None:
    assert len(_problems(f"Then `{code}` does it.")) == 1


def test_a_mark_is_for_programs_that_nobody_has_here_alone() -> None:
    marked = "<!-- not run: needs an Azure account -->\n```sh\naz group list\nmake uppp  # no\n```\n"
    assert [found.rpartition(": ")[2] for found in _problems(marked)] == ["no target uppp"]


def test_commands_are_read_as_the_shell_reads_them() -> None:
    text = """A=1 make up STACK=dev  # a comment
(umask 077; pulumi stack output x > "out file") && curl -d '{"a":
  1}' $URL | grep -c "#1" &
kubectl cp a \\
  b
"""
    assert list(parsed(text)) == [
        Command(("make", "up", "STACK=dev")),
        Command(("umask", "077")),
        Command(("pulumi", "stack", "output", "x"), writes=("out file",)),
        Command(("curl", "-d", '{"a":\n  1}', "$URL")),
        Command(("grep", "-c", "#1")),
        Command(("kubectl", "cp", "a", "b")),
    ]
