"""Text in settings: what Kubernetes, Linux or a cloud would refuse is refused here, in every setting alike."""

import functools
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from tensorplane import stack
from tensorplane.components.base.model import ARGUMENT_LIMIT, LINE_LIMIT, Model, is_object_name
from tensorplane.components.base.value_types import is_host
from tensorplane.components.clusters.aks.settings import Maintenance
from tensorplane.components.clusters.gke.settings import GkeMaintenance
from tests.support.problems import dev, problems_of, put

NAMES_OF_OTHER_SETTINGS = {"Location.volume", "JobSettings.queue", "NotebookSettings.queue", "ServedModel.volume"}
"""Text that is looked up among what the settings declare: nothing else gets any further."""
OF_SEVERAL_LINES = {
    "Evaluator.command",
    "JobSettings.args",
    "JobSettings.command",
    "JobSettings.env",
    "NotebookSettings.env",
    "OnSuccess.command",
    "StageArgs.command",
    "StageArgs.params",
}


def models(above: type[Model] = Model) -> Iterator[type[Model]]:
    """Every class of settings that `stack` imports."""
    for model in above.__subclasses__():
        yield model
        yield from models(model)


@functools.cache
def settings_of_the_stack() -> dict[str, TypeAdapter[Any]]:
    """What validates each setting of the stack, by its class and name."""
    assert stack.StackConfig in set(models())
    return {
        f"{model.__name__}.{name}": TypeAdapter(field.rebuild_annotation())
        for model in models()
        if model.__module__.startswith(("tensorplane.stack", "tensorplane.components", "tensorplane.workloads"))
        for name, field in model.model_fields.items()
        if name in model.__annotations__ and name != "kind"
    }


def takes(setting: TypeAdapter[Any], text: str) -> bool:
    """Whether a setting takes the text, as its value or anywhere in it."""
    values: list[Any] = [text, [text], {text: "a"}, {text: {}}, {"a": text}, {text: 1}]
    for value in values:
        try:
            setting.validate_python(value)
        except ValidationError:
            continue
        return True
    return False


def settings_that_take(text: str) -> set[str]:
    """The settings of the stack that take this text."""
    return {name for name, setting in settings_of_the_stack().items() if takes(setting, text)}


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"], ids=["NUL", "lone surrogate"])
def test_no_setting_takes_what_no_program_can_be_given(text: str) -> None:
    assert settings_that_take(text) == NAMES_OF_OTHER_SETTINGS


@pytest.mark.parametrize("text", ["a\nb", "a\x1bb", "a\u2028b", "a" * 5000], ids=["newline", "escape", "2028", "long"])
def test_only_commands_and_variables_have_several_lines(text: str) -> None:
    assert settings_that_take(text) == NAMES_OF_OTHER_SETTINGS | OF_SEVERAL_LINES


def test_the_sweep_sees_settings_of_text() -> None:
    assert {"EksSettings.region", "EksSettings.tags", "NodeGroupArgs.labels", "Ebs.kms_key"} - settings_that_take(
        "a"
    ) == {"Ebs.kms_key"}


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (
            "cluster",
            {"kind": "existing", "context": "a\nb"},
            "cluster.context: invalid value 'a\\nb'; use one line of text,",
        ),
        (
            "cluster",
            {"kind": "existing", "context": "kind-dev "},
            "cluster.context: invalid value 'kind-dev '; use text without ",
        ),
        ("cluster", {"kind": "existing", "context": "a" * (LINE_LIMIT + 1)}, "cluster.context: invalid value 'aaa"),
        (
            "workloads/digits/env/A",
            "a\0b",
            "workloads.digits.env.A: invalid value 'a\\x00b'; use text that Linux can hand to a",
        ),
        ("workloads/digits/env/A", "a" * 2_000_000, "workloads.digits.env.A: invalid value 'aaa"),
        (
            "workloads/digits/command",
            ["python3", "\0"],
            "workloads.digits.command.1: invalid value '\\x00'; use text that Linux",
        ),
        ("workloads/digits/command", [" "], "workloads.digits.command.0: is empty; start the command with a"),
        (
            "volumes/models/path",
            "/mod\0els",
            "volumes.models.path: invalid value '/mod\\x00els'; use one line of text,",
        ),
        (
            "volumes/models/readers",
            ["group:a\nb"],
            "volumes.models.readers.0: invalid value 'group:a\\nb'; use one line of text",
        ),
        (
            "workloads/digits/files",
            {"a.py": "a\0.py"},
            "workloads.digits.files.a.py: invalid value 'a\\x00.py'; use one line of",
        ),
    ],
)
def test_text_that_would_be_refused_later_is_one_fault(path: str, value: Any, line: str) -> None:
    tree = dev()
    put(tree, path, value)
    (found,) = [one for one in problems_of(tree) if ".backend" not in one]
    assert found.startswith(f"tensorplane:{line}"), found
    assert len(found) < 300


def test_a_variable_has_as_many_lines_as_it_likes() -> None:
    tree = dev()
    put(tree, "workloads/digits/env/SCRIPT", "a\n\tb\n" * 1000)
    put(tree, "workloads/digits/command", ["python3", "-c", "import sys\nprint(sys.argv)"])
    assert problems_of(tree) == []


@pytest.mark.parametrize(("key", "count"), [("env", 5), ("command", 5)])
def test_command_and_variables_have_to_fit_into_an_object(key: str, count: int) -> None:
    tree = dev()
    large = "a" * (ARGUMENT_LIMIT // 2)
    many = {f"V{index}": large for index in range(count)}
    put(tree, f"workloads/digits/{key}", many if key == "env" else ["python3", "train.py", *many.values()])
    (line,) = problems_of(tree)
    assert line.startswith(f"tensorplane:workloads.digits.{key}: command and env have 307,"), line
    put(tree, f"workloads/digits/{key}", {"V": large} if key == "env" else ["python3", "train.py", large])
    assert problems_of(tree) == []


@pytest.mark.parametrize("name", ["gp3", "rook-ceph.cephfs.csi.ceph.com", "0", "a" * 253])
def test_names_of_objects(name: str) -> None:
    assert is_object_name(name)


@pytest.mark.parametrize("name", ["", "Gp3", "a_b", "-a", "a-", "a..b", "a.", "a b", "a" * 254, "a\n"])
def test_what_is_no_name_of_an_object(name: str) -> None:
    assert not is_object_name(name)


def test_a_storage_class_is_named_as_kubernetes_names_it() -> None:
    tree = dev()
    tree["cluster"] = {"kind": "existing", "context": "lab"}
    tree["volumes"]["models"]["backend"] = {"kind": "storageClass", "name": "Fast SSD"}
    (line,) = problems_of(tree)
    assert line.startswith(
        "tensorplane:volumes.models.backend.name: invalid value 'Fast SSD'; use lower-case letters, digits,"
    )


def test_a_snapshot_is_named_as_kubernetes_names_it() -> None:
    tree = dev()
    tree["volumes"]["models"]["from"] = {"snapshot": "Models at noon"}
    assert problems_of(tree) == [
        "tensorplane:volumes.models.from.snapshot: 'Models at noon' is not a valid name of a VolumeSnapshot; "
        "choose one from kubectl get volumesnapshots"
    ]


@pytest.mark.parametrize(
    "host", ["nfs", "nfs.example.org", "nfs.example.org.", "10.0.0.7", "2001:db8::1", "a_b.example"]
)
def test_hosts(host: str) -> None:
    assert is_host(host)


@pytest.mark.parametrize(
    "host", ["", "a b", "nfs:2049", "http://nfs", "10.0.0.0/8", "10.0.0.300", "-a", "a..b", "a" * 64]
)
def test_no_hosts(host: str) -> None:
    assert not is_host(host)


@pytest.mark.parametrize("setting", [Maintenance, GkeMaintenance])
def test_a_time_of_day_is_refused_in_words(setting: type[Model]) -> None:
    with pytest.raises(ValidationError, match="use a time of day as HH:MM, 00:00 to 23:59"):
        setting.model_validate({"start": "25:00"})


def test_no_setting_answers_with_a_regular_expression() -> None:
    """pydantic's own check of a `pattern` would; a setting refuses in words."""
    fields = [(model.__name__, name, field) for model in models() for name, field in model.model_fields.items()]
    told = [(model, name) for model, name, field in fields if "pattern=" in repr((field.annotation, field.metadata))]
    assert fields
    assert not told
