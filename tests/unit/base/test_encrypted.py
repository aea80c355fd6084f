"""Texts of encrypted settings are marked as secret wherever they are, and nothing else is."""

from collections.abc import Callable, Iterator
from typing import Any

import pulumi
import pytest

from tensorplane.components.base import encrypted
from tests.support.rendering import in_a_loop

WORDS = frozenset({"hunter2-server", "abc"})


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(encrypted, "_words", WORDS)
    yield


def shown(make: Callable[[], Any]) -> Any:
    """What is made, with `[secret]` for what is marked. It is made in the loop, as in a program."""

    async def made() -> Any:
        return await _shown(make())

    return in_a_loop(made)


async def _shown(value: Any) -> Any:
    if isinstance(value, pulumi.Output):
        return "[secret]" if await value.is_secret() else await value.future()
    if isinstance(value, dict):
        return {key: await _shown(item) for key, item in value.items()}
    return [await _shown(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hunter2-server", "[secret]"),
        ("nfs://hunter2-server/x", "[secret]"),
        ("abc", "[secret]"),
        ("abcd", "abcd"),
        ("training", "training"),
        (7, 7),
        (None, None),
        (["x", "abc"], ["x", "[secret]"]),
        ({"server": "hunter2-server", "path": "/x"}, {"server": "[secret]", "path": "/x"}),
        ({"hunter2-server": "x"}, "[secret]"),
        ({"nfs": {"abc": 1, "b": 2}, "c": 3}, {"nfs": "[secret]", "c": 3}),
    ],
)  # fmt: skip
def test_parts_with_encrypted_texts_are_secret(value: Any, expected: Any) -> None:
    assert shown(lambda: encrypted.concealed(value)) == expected
    assert encrypted.has_secret(value) == ("[secret]" in str(expected))


def test_what_the_engine_marks_already_stays_as_it_is() -> None:
    value = {"4dabf18193072939515e22adb298388d": "1b47", "value": "abc"}
    assert encrypted.concealed(value) is value
    assert not encrypted.has_secret(value)


def test_a_resource_without_encrypted_texts_is_left_alone() -> None:
    assert encrypted._encrypt_inputs(_args({"metadata": {"name": "x"}})) is None


def test_inputs_of_a_resource_are_encrypted() -> None:
    args = _args({"spec": {"nfs": {"server": "hunter2-server"}}, "kind": "x"})

    def encrypt() -> Any:
        found = encrypted._encrypt_inputs(args)
        return dict(found.props) if found else None

    assert shown(encrypt) == {"spec": {"nfs": {"server": "[secret]"}}, "kind": "x"}


def _args(props: dict[str, Any]) -> pulumi.ResourceTransformArgs:
    return pulumi.ResourceTransformArgs(
        True, "kubernetes:core/v1:PersistentVolume", "x", props, pulumi.ResourceOptions()
    )


def test_without_encrypted_settings_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi.runtime, "register_resource_transform", lambda _: pytest.fail("registered"))
    encrypted.keep([])
    assert encrypted.concealed("hunter2-server") == "hunter2-server"


def test_members_are_recognized_as_the_cluster_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi.runtime, "register_resource_transform", lambda _: None)
    encrypted.keep(["user:ada@example.com", "group:ml-research"])
    subjects = [{"kind": "User", "name": "ada@example.com"}, {"kind": "Group", "name": "ml-research"}]
    hidden = [{"kind": "User", "name": "[secret]"}, {"kind": "Group", "name": "[secret]"}]
    assert shown(lambda: encrypted.concealed(subjects)) == hidden
