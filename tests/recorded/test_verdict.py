"""The verdict reports each planted violation: creations, deletions, replacements, changes of immutable fields."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

import pytest

from tests.recorded import recording, stacks, violations
from tests.recorded.violations import Expected

pytestmark = pytest.mark.nightly("thirteen engine runs of a small program")

BEFORE = """
    import pulumi
    import pulumi_aws as aws
    import pulumi_kubernetes as k8s

    class Volume(pulumi.ComponentResource):
        def __init__(self, name, **options):
            super().__init__("tensorplane:index:Volume", name, {}, pulumi.ResourceOptions(**options))
            self.inside = pulumi.ResourceOptions(parent=self)
            self.register_outputs({})

    def custom(api_version, kind, name, spec):
        k8s.apiextensions.CustomResource(
            name, api_version=api_version, kind=kind, metadata={"name": name, "namespace": "team"}, spec=spec
        )

    volume = Volume("models")
    spec = {"access_modes": ["ReadWriteMany"], "storage_class_name": "fast"}
    k8s.core.v1.PersistentVolumeClaim("models", metadata={"name": "models"}, spec=spec, opts=volume.inside)
    code = k8s.core.v1.ConfigMap("code", metadata={"name": "code-1"}, data={"train.py": "1"}, immutable=True)
    custom("jobset.x-k8s.io/v1alpha2", "JobSet", "digits-1", {"image": "a", "files": "code-1"})
    custom("kueue.x-k8s.io/v1beta2", "LocalQueue", "research", {"clusterQueue": "research"})
    k8s.apps.v1.Deployment(
        "server",
        metadata={"name": "server", "labels": {"a": "1"}},
        spec={"selector": {"match_labels": {"a": "1"}}, "template": {"metadata": {"labels": {"a": "1"}}}},
    )
    aws.sqs.Queue("queue", name="queue", fifo_queue=False)
"""
_CODE = Expected("replace", "kubernetes:core/v1:ConfigMap", "code", "named by its content")
_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim models"

After = Callable[[str, str], list[str]]


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Iterator[After]:
    """The violations after one text of the program `BEFORE`, which is deployed and recorded, is replaced by another."""
    root = tmp_path_factory.mktemp("planted")
    program = root / "program.py"
    (root / "engine").mkdir()
    program.write_text(textwrap.dedent(BEFORE))
    with stacks.opened(root / "engine", program) as project:
        project.add("planted")
        recorded = recording.text(project.deploy("planted"))
        project.restore("planted", recording.deployment(recorded, stacks.NAME, "planted"))

        def changed(old: str, new: str) -> list[str]:
            assert old in BEFORE
            program.write_text(textwrap.dedent(BEFORE.replace(old, new)))
            found = violations.unexpected(project.preview("planted"), [_CODE])
            return sorted(str(each).partition(": ")[0] for each in found)

        yield changed


def test_the_same_program_violates_nothing(after: After) -> None:
    assert after("a", "a") == []


def test_a_changed_label_violates_nothing(after: After) -> None:
    assert after('"labels": {"a": "1"}}}', '"labels": {"a": "1", "b": "2"}}}') == []


@pytest.mark.parametrize(
    ("old", "new", "violation"),
    [
        ('"storage_class_name": "fast"', '"storage_class_name": "slow"', f"replace {_CLAIM}"),
        ('"match_labels": {"a": "1"}', '"match_labels": {"a": "2"}', "replace kubernetes:apps/v1:Deployment server"),
        ('"name": name, "namespace": "team"', '"name": name, "namespace": "a"', "replace kubernetes:jobset"),
        ('"image": "a"', '"image": "b"', "update kubernetes:jobset.x-k8s.io/v1alpha2:JobSet digits-1"),
        ('{"clusterQueue": "research"}', '{"clusterQueue": "a"}', "update kubernetes:kueue.x-k8s.io/v1beta2:Local"),
        ("fifo_queue=False", "fifo_queue=True", "update aws:sqs/queue:Queue queue"),
        ('"code-1"}, data', '"code-2"}, data', "delete kubernetes:core/v1:ConfigMap code-1"),
    ],
)
def test_a_changed_immutable_field_is_a_violation(old: str, new: str, violation: str, after: After) -> None:
    assert any(found.startswith(violation) for found in after(old, new)), after(old, new)


def test_a_moved_urn_is_a_violation_unless_it_has_an_alias(after: After) -> None:
    known, kind = 'super().__init__("tensorplane:index:Volume"', 'super().__init__("tensorplane:index:Storage"'
    alias = 'options["aliases"] = [pulumi.Alias(type_="tensorplane:index:Volume")]'
    assert after(known, kind) == [f"create {_CLAIM}", f"delete {_CLAIM}"]
    assert after(known, f"{alias}; {kind}") == []


def test_an_added_and_a_removed_resource_are_violations(after: After) -> None:
    queue = 'aws.sqs.Queue("queue", name="queue", fifo_queue=False)'
    assert after(queue, "") == ["delete aws:sqs/queue:Queue queue"]
    assert after(queue, f'{queue}; aws.sqs.Queue("more")') == ["create aws:sqs/queue:Queue more"]
