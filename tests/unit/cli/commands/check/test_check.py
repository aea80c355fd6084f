"""`tensorplane check`: the faults of a stack's file, told before any engine or cluster is touched."""

from __future__ import annotations

import contextvars
from pathlib import Path

import pulumi
import pytest
import yaml

from tensorplane import stack
from tensorplane.cli import stack_config
from tensorplane.cli.commands.check import command as check_command
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.driver.stack_settings import StackSettings
from tests.support import rendering


def _problems(file: Path) -> list[str]:
    try:
        # The SDK keeps its configuration in the context: this one is thrown away.
        contextvars.copy_context().run(check_command.run, file)
    except UserError as fault:
        return list(fault.lines)
    return []


def test_the_dev_stack_has_none() -> None:
    assert _problems(PROJECT / "Pulumi.dev.yaml") == []


@pytest.mark.parametrize("prefix", ["tensorplane:", ""])
def test_every_fault_is_reported_at_once(tmp_path: Path, prefix: str) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(f"config:\n  {prefix}queue: {{}}\n  {prefix}volumes: {{models: {{sizeGib: two}}}}\n")
    first, second = sorted(_problems(file))
    assert first.startswith("tensorplane:queue: ")
    assert second.startswith("tensorplane:volumes.models.sizeGib: ")


def _file(folder: Path, text: str) -> Path:
    file = folder / "Pulumi.dev.yaml"
    file.write_text(text)
    return file


_JOB = "kind: trainingJob, strategy: {kind: single}, command: [a]"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("tensorplan:workloads: {}", "tensorplan:workloads: nothing reads a setting with this prefix"),
        ("Tensorplane:workloads: {}", "Tensorplane:workloads: nothing reads a setting with this prefix"),
        ("pulmi:tags: {}", "pulmi:tags: nothing reads a setting with this prefix"),
        ("tensorplane:config:workload: {}", "tensorplane:workload: unknown setting"),
    ],
)
def test_a_mistyped_prefix_is_a_fault(tmp_path: Path, text: str, line: str) -> None:
    (found,) = _problems(_file(tmp_path, f"config:\n  {text}\n  tensorplane:volumes: {{a: {{sizeGib: 1}}}}\n"))
    assert found.startswith(line)
    assert "did you mean" in found


@pytest.mark.parametrize(
    "key", ["aws:region", "aws:regoin", "gcp:project", "azure-native:location", "kubernetes:context"]
)
def test_what_only_default_providers_would_read_is_a_fault(tmp_path: Path, key: str) -> None:
    (found,) = _problems(_file(tmp_path, f"config:\n  {key}: x\n  tensorplane:volumes: {{a: {{sizeGib: 1}}}}\n"))
    assert found.startswith(
        f"{key}: nothing reads this key, because the stack's providers follow tensorplane:cluster and"
    )


@pytest.mark.parametrize("key", ["Config", "confg", "encryptionSalt"])
def test_a_mistyped_top_key_is_a_fault(tmp_path: Path, key: str) -> None:
    (found,) = _problems(_file(tmp_path, f"config: {{volumes: {{a: {{sizeGib: 1}}}}}}\n{key}: {{}}\n"))
    assert found.startswith(f"Pulumi.dev.yaml: {key}: Pulumi ignores this key")
    assert "did you mean" in found


def test_settings_of_the_engine_stand_beside(tmp_path: Path) -> None:
    others = "".join(f"  {key}: x\n" for key in ("pulumi:disable-default-providers", "pulumi:tags"))
    kept = "secretsprovider: x\nencryptedkey: x\nencryptionsalt: x\n"
    assert _problems(_file(tmp_path, f"{kept}config:\n{others}  volumes: {{a: {{sizeGib: 1}}}}\n")) == []


@pytest.mark.parametrize("text", ["{}", "{tensorplane:namespace: a}", "{tensorplane:volumes: {}, 'pulumi:tags': x}"])
def test_a_file_that_declares_nothing_is_refused(tmp_path: Path, text: str) -> None:
    (found,) = _problems(_file(tmp_path, f"config: {text}\n"))
    assert found.startswith("Pulumi.dev.yaml: it declares nothing, so an update would delete what the stack has; ")


def test_what_is_in_clear_is_checked_beside_what_is_encrypted(tmp_path: Path) -> None:
    text = f"""\
encryptionsalt: v1:x
config:
  tensorplane:volumes: {{secure: {{sizeGib: 1}}, b: {{sizeGib: {{secure: AAAA}}, retian: true}}}}
  tensorplane:workloads:
    x: {{{_JOB}, env: {{S: {{secure: AAAA}}}}, volumes: {{b: /b, c: /c}},
      resources: {{cpus: {{secure: AAAA}}, gpu: 1}}}}
    y: {{kind: {{secure: AAAA}}, command: {{secure: AAAA}}}}
  tensorplane:queues: {{secure: AAAA}}
"""
    found = _problems(_file(tmp_path, text))
    assert [line.split(": ")[0] for line in found] == [
        "tensorplane:volumes.b.retian",
        "tensorplane:workloads.x.resources.gpu",
        "tensorplane:workloads.x.volumes.c",
    ]


def test_encrypted_values_are_left_to_the_engine(tmp_path: Path) -> None:
    file = _file(tmp_path, f"config:\n  tensorplane:workloads: {{x: {{{_JOB}, env: {{S: {{secure: AAAA}}}}}}}}\n")
    told = contextvars.copy_context().run(check_command.run, file)
    assert told == (
        "Pulumi.dev.yaml: no mistakes found; only Pulumi can check encrypted values: tensorplane:workloads.x.env.S"
    )


def test_a_number_of_which_pulumi_changes_the_text_is_no_text(tmp_path: Path) -> None:
    env = "{A: 1.10, B: 0755, C: 1.5, D: '1.10', E: no, F: 600}"
    text = f"config:\n  tensorplane:workloads: {{x: {{{_JOB}, resources: {{cpus: 1.50}}, env: {env}}}}}\n"
    assert _problems(_file(tmp_path, text)) == [
        "tensorplane:workloads.x.env.A: Pulumi turns the number 1.10 into 1.1; quote it",
        "tensorplane:workloads.x.env.B: Pulumi turns the number 0755 into 493; quote it",
    ]


@pytest.mark.parametrize(("written", "made"), [("True", "true"), ("FALSE", "false")])
def test_a_boolean_of_which_pulumi_changes_the_text_is_called_one(tmp_path: Path, written: str, made: str) -> None:
    text = f"config:\n  tensorplane:namespace: {written}\n  tensorplane:volumes: {{a: {{sizeGib: 1}}}}\n"
    assert _problems(_file(tmp_path, text)) == [
        f"tensorplane:namespace: Pulumi turns the boolean {written} into {made}; quote it"
    ]


def test_a_version_without_quotes_is_one_line(tmp_path: Path) -> None:
    text = (PROJECT / "Pulumi.prod.yaml").read_text().replace('version: "1.35"', "version: 1.30")
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(text)
    assert _problems(file) == [
        "tensorplane:cluster.version: invalid value 1.30; use text (quote it if it looks like a number or boolean)"
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"config: {{x: {'{a: ' * 900}1{'}' * 900}}}", "Pulumi.dev.yaml, line 1: nested deeper than 100 levels"),
        ("config: {x: &a [*a]}", "Pulumi.dev.yaml, line 1: an alias contains itself"),
        ("", "Pulumi.dev.yaml: the file has no settings; add config:"),
        (
            'config: {"volumes": {"a\\e[31m\\u2028b": {}}}',
            "tensorplane:volumes.a\\x1b[31m\\u2028b: invalid value 'a\\x1b[31m\\u2028b'; use lower-case letters,",
        ),
        (f"config:\n  volumes:\n    ? {'a' * 5000}\n    : {{}}\n", f"tensorplane:volumes.{'a' * 200}…: invalid "),
    ],
)
def test_a_strange_file_ends_in_short_lines(tmp_path: Path, text: str, line: str) -> None:
    found = _problems(_file(tmp_path, text))
    assert found
    assert found[0].startswith(line)
    assert all(each.isprintable() and len(each) < 700 for each in found)


def test_a_folder_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.dev.yaml").mkdir()
    assert _problems(tmp_path / "Pulumi.dev.yaml") == ["Pulumi.dev.yaml: Is a directory"]


def _prod_with(tmp_path: Path, **more: object) -> Path:
    """The production stack without its team, whose jobs no settings declare."""
    settings = yaml.safe_load((PROJECT / "Pulumi.prod.yaml").read_text())
    server = {"kind": "modelServer", "model": {"volume": "models", "path": "digits"}}
    del settings["config"]["tensorplane:queues"]["research"]["teams"]
    del settings["config"]["tensorplane:teams"]
    settings["config"] |= {
        "tensorplane:volumes": {"models": {"sizeGib": 10, "backend": {"kind": "efs"}}},
        "tensorplane:workloads": {"digits-server": server},
        **more,
    }
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(yaml.safe_dump(settings))
    return file


def test_a_group_for_others_jobs_is_a_note_and_no_fault(tmp_path: Path) -> None:
    note, done = contextvars.copy_context().run(check_command.run, _prod_with(tmp_path)).split("\n")
    assert note.startswith("note: tensorplane:nodeGroups.old.spot: no workload of this stack can run on spot nodes ")
    assert done == "Pulumi.prod.yaml: no mistakes found"


def test_groups_of_a_stack_with_teams_need_no_note(tmp_path: Path) -> None:
    said = contextvars.copy_context().run(
        check_command.run, _prod_with(tmp_path, **{"tensorplane:teams": {"vision": {}}})
    )
    (note, _) = said.splitlines()
    assert note.startswith("note: tensorplane:teams.vision: no queue has the team")


def test_an_environment_is_a_note_since_the_state_decides(tmp_path: Path) -> None:
    file = _file(tmp_path, "environment: [x]\nconfig: {volumes: {a: {sizeGib: 1}}}\n")
    told = contextvars.copy_context().run(check_command.run, file).split("\n")
    assert told[0].startswith("note: Pulumi.dev.yaml: environment: environments work only with state in Pulumi Cloud")


def test_teams_without_queues_are_a_note(tmp_path: Path) -> None:
    without: dict[str, object] = {"tensorplane:teams": {"vision": {}}, "tensorplane:queues": {}}
    said = contextvars.copy_context().run(check_command.run, _prod_with(tmp_path, **without))
    assert said.startswith(
        "note: tensorplane:teams: is set but there are no queues, so it has no effect; declare queues,"
    )


def test_a_note_is_a_warning_of_the_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = contextvars.copy_context().run(stack_config.load, _prod_with(tmp_path))
    told: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", told.append)
    rendering.run(lambda: stack.build(config))
    assert [line.split(": ")[0] for line in told] == ["tensorplane:nodeGroups.old.spot"]


@pytest.mark.parametrize(("backend", "refused"), [("file:///state", True), ("s3://bucket", True), ("https://x", False)])
def test_an_environment_is_refused_where_the_state_cannot_have_one(tmp_path: Path, backend: str, refused: bool) -> None:
    _file(tmp_path, "environment: [x]\nconfig: {volumes: {a: {sizeGib: 1}}}\n")
    settings = StackSettings("dev", tmp_path / "home", tmp_path)
    with pytest.raises((UserError, OSError)) as raised:
        settings.make_stack(tmp_path / "no-pulumi", {"PULUMI_BACKEND_URL": backend})
    assert ("Pulumi.dev.yaml: environment: environments work only" in str(raised.value)) == refused


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("tensorplane:volumes: {a: {sizeGib: 1}}\n", "tensorplane:volumes"),
        ("volumes: {a: {sizeGib: 1}}\nworkloads: {}\nencryptionsalt: x\n", "volumes and workloads"),
    ],
)
def test_settings_without_config_around_them_are_one_line(tmp_path: Path, text: str, inside: str) -> None:
    assert _problems(_file(tmp_path, text)) == [f"Pulumi.dev.yaml: config is missing; put {inside} below it"]


@pytest.mark.parametrize("key", ["tensorplane", "config"])
def test_settings_below_another_key_than_their_prefix_are_one_line(tmp_path: Path, key: str) -> None:
    (found,) = _problems(_file(tmp_path, f"config:\n  {key}:\n    volumes: {{a: {{sizeGib: 1}}}}\n"))
    remedy = "move its keys up beside it, with their prefix, such as tensorplane:volumes"
    assert found == f"tensorplane:{key}: unknown setting; {remedy}"


@pytest.mark.parametrize("value", ["!!binary aGVsbG8=", "!!int two", "!!omap [a: 1]"])
def test_a_value_with_a_tag_is_one_line(tmp_path: Path, value: str) -> None:
    text = f"config:\n  volumes: {{a: {{sizeGib: 1}}}}\n  namespace: {value}\n"
    assert _problems(_file(tmp_path, text)) == ["Pulumi.dev.yaml: line 3: the value has a tag; remove it"]
