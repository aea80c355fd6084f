"""The copy of a stack's settings that `pulumi` reads: whose salt is in it, and that it is never there in part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.driver.stack_settings import StackSettings

_PLAIN = "config:\n  tensorplane:queues: {}\n"


@pytest.fixture
def settings(tmp_path: Path) -> StackSettings:
    """Settings of a project in which nothing is encrypted, in a home that has no salt yet."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text("name: tiny\n")
    (project / "Pulumi.dev.yaml").write_text(_PLAIN)
    return StackSettings("dev", tmp_path / "home", project)


def _copied(settings: StackSettings, text: str) -> str:
    (settings.project / "Pulumi.dev.yaml").write_text(text)
    settings.refresh()
    return settings.file.read_text()


def test_a_salt_that_plain_pulumi_left_in_the_checkout_is_not_taken(settings: StackSettings) -> None:
    """On another machine it belongs to another passphrase, and every command would fail."""
    assert _copied(settings, f"{_PLAIN}encryptionsalt: v1:theirs\n") == _PLAIN


def test_the_homes_own_salt_stays_and_new_settings_come(settings: StackSettings) -> None:
    settings.refresh()
    settings.file.write_text(f"encryptionsalt: v1:ours\n{_PLAIN}")
    assert _copied(settings, f"{_PLAIN}  a: b\nencryptionsalt: v1:theirs\n") == (
        f"encryptionsalt: v1:ours\n{_PLAIN}  a: b\n"
    )


def test_encrypted_values_keep_the_salt_that_reads_them(settings: StackSettings) -> None:
    text = "encryptionsalt: v1:theirs\nconfig:\n  tensorplane:key: {secure: AAAA}\n"
    assert _copied(settings, text) == text


def test_a_volume_of_that_name_is_no_encrypted_value(settings: StackSettings) -> None:
    plain = "config:\n  tensorplane:volumes:\n    secure: {sizeGib: 1}\n"
    assert _copied(settings, f"{plain}encryptionsalt: v1:theirs\n") == plain


def test_no_draft_stays_beside_the_copy(settings: StackSettings) -> None:
    settings.refresh()
    assert sorted(path.name for path in settings.folder.iterdir()) == ["Pulumi.dev.yaml", "Pulumi.yaml"]
