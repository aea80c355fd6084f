"""Changed resources at the beginning: rights and networks first, what is not like many others with its values."""

from __future__ import annotations

import random

import pytest

from tensorplane.cli.commands.preview import render
from tensorplane.cli.commands.preview.head import LIMIT
from tensorplane.cli.commands.preview.report import Change, Property, Report
from tensorplane.cli.commands.preview.section import SEPARATOR
from tensorplane.cli.output.escaping import line as shown

MANY = 200
POD = "spec.template.spec"


def _head(changes: list[Change]) -> list[str]:
    head = render.markdown(Report("dev", changes=tuple(changes))).partition(SEPARATOR)[0]
    assert len(head.encode()) <= LIMIT
    return head.partition("## Changed resources")[2].strip().splitlines()


def _replaced(number: int, *more: Property) -> Change:
    name = f"job-{number:03}"
    run = Property("metadata.name", f'"{name}-0000000{number % 10}"', f'"{name}-1111111{number % 10}"', replaces=True)
    image = Property(f"{POD}.containers[0].image", '"a:1"', f'"a:2-{number}"', replaces=True)
    return Change("replace", "jobset.x-k8s.io/v1alpha2:JobSet", name, (run, image, *more))


ODD = [
    Property(f"{POD}.serviceAccountName", '"default"', '"admin"', replaces=True),
    Property(f"{POD}.hostNetwork", "", "true", replaces=True),
    Property(f"{POD}.containers[0].command[0]", '"train"', '"curl"', replaces=True),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda changed: changed.path)
def test_the_one_in_which_more_changes_among_many_is_first_with_its_values(odd: Property) -> None:
    for at in (0, MANY - 1, *random.Random(41).sample(range(MANY), 3)):
        first, second, *_ = _head([_replaced(number, *([odd] if number == at else [])) for number in range(MANY)])
        assert first.startswith(f"- replace JobSet **job-{at:03}**: {POD}.")
        assert f"{shown(odd.path)} {odd.old or 'none'} → {odd.new}" in first.partition(", ")[0]
        assert second.startswith("- replace 199 JobSets **job-")
        assert "metadata.name" not in first + second, "another run of the same has another name"


def test_the_one_with_another_value_than_most_is_first() -> None:
    for at in (0, MANY - 1, 77):
        values = ('"8Gi"', '"9Gi"'), ('"8Gi"', '"900Gi"')
        more = [Property(f"{POD}.containers[0].memory", *values[number == at], replaces=True) for number in range(MANY)]
        first, second, *_ = _head([_replaced(number, more[number]) for number in range(MANY)])
        assert first.startswith(f"- replace JobSet **job-{at:03}**: {POD}.")
        assert '.memory "8Gi" → "900Gi", ' in first
        assert second.startswith("- replace 199 JobSets")


def test_what_gives_rights_is_first_of_the_properties_also_of_many() -> None:
    more = [Property(f"{POD}.{path}", "1", "2", replaces=True) for path in ("a", "b", "c", "serviceAccountName")]
    (line,) = _head([_replaced(number, *more) for number in range(MANY)])[:1]
    assert f"**: {POD}.serviceAccountName 1 → 2, " in line


def test_what_decides_about_access_is_first_also_if_it_comes_or_goes() -> None:
    egress = Property("spec.egress[0].to[0].ipBlock.cidr", '"10.0.0.0/8"', '"0.0.0.0/0"', replaces=False)
    lines = _head(
        [
            Change("delete", "core/v1:ConfigMap", "a"),
            Change("update", "apps/v1:Deployment", "b", (Property("spec.replicas", "1", "2", replaces=False),)),
            *(Change("create", "core/v1:Service", f"s-{number}") for number in range(9)),
            Change("create", "core/v1:ConfigMap", "c"),
            Change("create", "rbac.authorization.k8s.io/v1:ClusterRoleBinding", "all-admins"),
            Change("update", "networking.k8s.io/v1:NetworkPolicy", "default", (egress,)),
        ]
    )
    assert lines[:3] == [
        "- create ClusterRoleBinding **all-admins**",
        '- update NetworkPolicy **default**: spec.egress\\[0].to\\[0].ipBlock.cidr "10.0.0.0/8" → "0.0.0.0/0"'
        " **(the internet)**",
        "- update Deployment **b**: spec.replicas 1 → 2",
    ]
    assert lines[3:5] == ["- delete 1 more: ConfigMap **a**", "- create 10 more: ConfigMap **c**, 9 Services"]


def test_the_table_of_every_resource_begins_with_what_is_not_like_many_others() -> None:
    changes = [_replaced(number, *(ODD[:1] if number == 77 else [])) for number in range(100)]
    table = render.markdown(Report("dev", changes=tuple(changes))).partition("## Every changed resource")[2]
    rows = [row for row in table.splitlines() if row.startswith("| replace")]
    assert "**job-077**" in rows[0]


def test_a_long_path_is_shown_from_its_end() -> None:
    path = 'spec.replicatedJobs["worker"].template.spec.template.spec.containers["main"].env["STEPS"].value'
    (line,) = _head([Change("update", "v1:JobSet", "a", (Property(path, "1", "2", replaces=False),))])
    assert shown('…spec.template.spec.containers["main"].env["STEPS"].value 1 → 2') in line
    assert "replicatedJobs" not in line


def test_values_of_many_are_listed_if_they_are_few_and_else_counted() -> None:
    secret, memory = f"{POD}.containers[0].env.secretKeyRef.name", f"{POD}.containers[0].memory"
    more = [
        (
            Property(secret, '"reader"', '"admin"', replaces=True),
            Property(memory, f'"{number % 2 + 1}Gi"', '"4Gi"', replaces=True),
        )
        for number in range(MANY)
    ]
    line, *_ = _head([_replaced(number, *more[number]) for number in range(MANY)])
    assert f'**: {shown(secret)} "reader" → "admin", ' in line
    assert f'{shown(memory)} "1Gi", "2Gi" → "4Gi"' in line
    assert 'image "a:1" → 200 values' in line


def test_a_property_that_follows_from_another_is_left_out_beside_it() -> None:
    image, record = f"{POD}.image", f'{POD}.env["TENSORPLANE_LINEAGE"].value.image'
    both = [Property(path, '"a:1"', '"a:2"', replaces=True) for path in (record, image)]
    (line,) = _head([Change("replace", "v1:JobSet", "a", tuple(both))])
    assert line == '- replace JobSet **a**: spec.template.spec.image "a:1" → "a:2"'
    (line,) = _head([Change("replace", "v1:JobSet", "a", tuple(both[:1]))])
    assert "LINEAGE" in line, "where it is all that changes"


@pytest.mark.parametrize(
    ("path", "new", "says"),
    [
        ("spec.egress[0].to", "", "to every address"),
        ("spec.ingress[1].from", "", "from every address"),
        ("spec.ingress[0].ports", "", "at every port"),
        ("spec.policyTypes[0]", '"Ingress"', "a direction that is not listed is open"),
    ],
)
def test_what_a_network_policy_no_longer_keeps_away_is_in_words(path: str, new: str, says: str) -> None:
    changed = Property(path, '"x"', new, replaces=False)
    (line,) = _head([Change("update", "networking.k8s.io/v1:NetworkPolicy", "default", (changed,))])
    assert line.endswith(f"{new or 'none'} **({says})**")
    rule = Property("spec.egress[1]", '"x"', "", replaces=False)
    (line,) = _head([Change("update", "networking.k8s.io/v1:NetworkPolicy", "default", (rule,))])
    assert line.endswith('"x" → none'), "without a rule, less may pass"


@pytest.mark.parametrize("kind", ["policy/v1:PodDisruptionBudget", "core/v1:ResourceQuota", "batch/v1:CronJob"])
def test_a_limit_or_schedule_that_goes_is_named_among_many_others(kind: str) -> None:
    others = [Change("delete", "core/v1:Service", f"s-{number}") for number in range(90)]
    first, *_ = _head([*others, Change("delete", kind, "odd")])
    assert first == f"- delete {kind.rpartition(':')[2]} **odd**"
