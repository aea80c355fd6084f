"""Names of branches and labels: a new one does not change what a reference means."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorplane.datasets import Dataset, Refused, labels, references
from tensorplane.datasets.store import Store
from tests.runtime.test_dataset import put, text


def test_a_branch_cannot_have_the_name_of_a_label(dataset: Dataset) -> None:
    first = put(dataset, a="1")
    put(dataset, a="2")
    dataset.label("rel", first)
    expected = "^rel: is a label; choose another name for the branch, or remove the label first$"
    with pytest.raises(Refused, match=expected):
        dataset.branch("rel")
    with pytest.raises(Refused, match=expected):
        put(dataset, "rel", a="3")
    assert text(dataset, "rel") == {"a": "1"}
    dataset.unlabel("rel")
    dataset.branch("rel")
    assert text(dataset, "rel") == {"a": "2"}


@pytest.mark.parametrize("name", ["main", "dev"])
def test_a_label_cannot_have_the_name_of_a_branch(dataset: Dataset, name: str) -> None:
    put(dataset, "dev", a="1")
    with pytest.raises(Refused, match=f"^{name}: is a branch; choose another name for the label$"):
        dataset.label(name, "dev")
    assert not dataset.labels()


def test_a_name_cannot_be_the_first_digits_of_an_id(dataset: Dataset, folder: Path) -> None:
    put(dataset, a="1")
    made = dataset.resolve(put(dataset, a="2"))
    for digits in (made.id[:8], made.version[:10], made.id):
        expected = f"^{digits}: is the beginning of a commit's or version's id; choose another name$"
        with pytest.raises(Refused, match=expected):
            dataset.label(digits, "main~1")
        with pytest.raises(Refused, match=expected):
            dataset.branch(digits, "main~1")
        with pytest.raises(Refused, match=expected):
            dataset.commit(folder, branch=digits)
    assert dataset.resolve(made.id[:8]) == made
    dataset.label("20261126", "main~1")  # digits, and no commit begins so
    assert text(dataset, "20261126") == {"a": "1"}


def test_names_that_an_older_tensorplane_allowed_keep_their_meaning(dataset: Dataset) -> None:
    first, second = put(dataset, a="1"), put(dataset, a="2")
    dataset.branch("both", first)
    labels.write(dataset.store, "both", labels.Label(second))
    assert dataset.resolve("both").id == first
    dataset.label("both", first, move=True)
    third = put(dataset, "both", a="3")
    assert (dataset.resolve("both").id, dataset.labels()["both"].id) == (third, first)


def test_a_lease_does_not_end_a_label_or_a_longer_lease(dataset: Dataset) -> None:
    put(dataset, a="1")
    dataset.label("paper")
    dataset.label("reader", seconds=1000)
    until = labels.read(dataset.store)["reader"].until
    for move in (False, True):
        dataset.label("paper", seconds=1, move=move)
        dataset.label("reader", seconds=1, move=move)
    assert labels.read(dataset.store) == {
        "paper": labels.Label(dataset.resolve().id),
        "reader": labels.Label(dataset.resolve().id, until),
    }
    dataset.label("reader", seconds=10**6)
    assert (labels.read(dataset.store)["reader"].until or 0) > time.time() + 10**5
    dataset.label("reader")
    assert labels.read(dataset.store)["reader"].until is None


def test_a_whole_id_of_a_commit_is_found_without_a_list_of_all(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put(dataset, a="1")
    made = dataset.resolve(put(dataset, a="2"))

    def refuse(store: Store, kind: str) -> Iterator[str]:
        raise AssertionError(f"lists all {kind}")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "names", refuse)
        assert dataset.resolve(made.id) == made
        assert dataset.resolve(f"{made.id}~1").id == first
    assert dataset.resolve(made.version) == made
    with pytest.raises(Refused, match=f"^{'0' * 64}: is no branch, label, commit or version; choose one of main$"):
        dataset.resolve("0" * 64)


def test_a_new_name_of_digits_reads_each_commit_once(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        put(dataset, a=f"{number}")
    made = [each.id for each in dataset.log()]
    read, commit = list[str](), Store.commit

    def noted(store: Store, name: str) -> bytes:
        read.append(name)
        return commit(store, name)

    monkeypatch.setattr(Store, "commit", noted)
    references.allow_label(dataset.store, "20261126")
    assert sorted(read) == sorted(made)
