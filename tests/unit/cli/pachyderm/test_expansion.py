"""Words of commands, in which Kubernetes replaces `$(NAME)` and `$$`, and Pachyderm nothing."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tensorplane.cli.pachyderm import convert, expansion, export
from tensorplane.cli.pachyderm.spec import Spec
from tensorplane.cli.pachyderm.stage import Choice
from tensorplane.workloads.pipeline.settings import PipelineSettings

_OF_POD = {"HOME": "/tmp", "USER": "tensorplane"}
_OWN = {"A": "1", "SIZE": "20 px"}
_WORDS = st.lists(st.sampled_from(["$", "(", ")", "A", "SIZE", "HOME", "date", " ", "$$", "$(A)", "${A}"])).map("".join)


def _in_kubernetes(word: str, variables: Mapping[str, str]) -> str:
    """As `expansion.Expand` of Kubernetes (third_party/forked/golang/expansion)."""
    made, at = "", 0
    while at < len(word):
        sign, following = word[at], word[at + 1 : at + 2]
        end = word.find(")", at)
        if sign == "$" and following == "$":
            made, at = f"{made}$", at + 2
        elif sign == "$" and following == "(" and end > 0:
            name = word[at + 2 : end]
            made, at = made + variables.get(name, word[at : end + 1]), end + 1
        else:
            made, at = made + sign, at + 1
    return made


@given(word=_WORDS)
def test_an_imported_word_reaches_the_program_as_in_pachyderm(word: str) -> None:
    assert _in_kubernetes(expansion.escaped(word, _OWN), {**_OF_POD, **_OWN}) == word


@given(word=_WORDS)
def test_an_exported_word_is_what_the_program_got(word: str) -> None:
    assert expansion.expanded(word, _OWN) == _in_kubernetes(word, _OWN)


def test_commands_are_imported_and_exported_so() -> None:
    transform = {"cmd": ["sh", "-c", "echo $$ $(A) $(date) $A"], "env": {"A": "1"}}
    spec = {"pipeline": {"name": "a"}, "transform": transform, "input": {"pfs": {"repo": "x", "glob": "/"}}}
    stages = convert.convert([Spec.model_validate(spec)], Choice()).workloads["a"]["stages"]
    assert stages["a"]["command"] == ["sh", "-c", "echo $$$$ $$(A) $(date) $A"]
    settings = PipelineSettings.model_validate({"stages": stages, "triggers": {"new": {}}})
    (again,) = export.specs("a", settings, [])
    assert again["transform"]["cmd"] == transform["cmd"]
