"""What the library promises short of a training run: places, orders of examples, publishing."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain, islice
from pathlib import Path

import pytest
import tensorflow as tf

from tensorplane import cluster
from tensorplane.checkpoints.checkpointer import Checkpointer
from tensorplane.cluster import Place
from tensorplane.data.order import Order
from tensorplane.loop import Loop
from tensorplane.publish import publish
from tests.runtime import two_replicas


def _environment(cluster: dict[str, list[str]], kind: str, index: int) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


def test_without_tf_config_the_process_is_alone_and_chief() -> None:
    place = Place.current({})
    assert (place.workers, place.index, place.is_chief) == (1, 0, True)


def test_worker_0_is_chief_where_no_chief_is_named() -> None:
    workers = {"worker": ["a:1", "b:1", "c:1"]}
    places = [Place.current(_environment(workers, "worker", index)) for index in range(3)]
    assert [place.is_chief for place in places] == [True, False, False]
    assert {place.workers for place in places} == {3}


def test_a_chief_comes_before_the_workers() -> None:
    both = {"chief": ["a:1"], "worker": ["b:1"]}
    assert Place.current(_environment(both, "chief", 0)) == Place(2, 0)
    assert Place.current(_environment(both, "worker", 0)) == Place(2, 1)


@pytest.mark.parametrize("cluster", [{"worker": ["a:1", "b:1"]}, {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}])
def test_an_evaluator_is_alone_and_never_chief(cluster: dict[str, list[str]]) -> None:
    place = Place.current(_environment(cluster, "evaluator", 0))
    assert (place.workers, place.servers, place.is_chief) == (1, 0, False)
    assert place.strategy() is tf.distribute.get_strategy()
    with pytest.raises(ValueError, match=r"task evaluator does not train; give strategy.evaluator a command"):
        Loop(place.strategy(), place, lambda: tf.constant(0.0), tf.Variable(0))


def test_an_evaluator_restores_what_the_workers_saved(tmp_path: Path) -> None:
    saved = tf.Variable(3.0)
    Checkpointer(tmp_path, Place(), asynchronous=False, value=saved).save(20)
    place = Place.current(_environment({"worker": ["a:1", "b:1"]}, "evaluator", 0))
    read = tf.Variable(0.0)
    checkpoints = Checkpointer(tmp_path, place, value=read)
    assert (checkpoints.restore(), float(read)) == (20, 3.0)
    read.assign(4.0)
    checkpoints.save(40)
    assert Checkpointer(tmp_path, place, value=read).restore() == 20, "it never writes"


@pytest.mark.parametrize(
    ("cluster", "kind", "index", "says"),
    [
        ({"worker": ["a:1"]}, "worker", 1, "not one of the cluster's 1 tasks"),
        ({"worker": ["a:1"]}, "chief", 0, "not one of the cluster's 1 tasks"),
        ({"worker": ["a:1"], "ps": ["b:1"]}, "worker", 0, "only its one chief runs a program"),
    ],
)
def test_a_wrong_tf_config_is_refused(cluster: dict[str, list[str]], kind: str, index: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Place.current(_environment(cluster, kind, index))


def test_a_strategy_after_the_first_operation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = _environment({"worker": ["127.0.0.1:1", "127.0.0.1:2"]}, "worker", 0)
    monkeypatch.setenv("TF_CONFIG", environment["TF_CONFIG"])
    tf.constant(1)
    with pytest.raises(RuntimeError, match=r"^strategy: TensorFlow has run operations .*; call tensorplane.strategy"):
        Place.current(environment).strategy()


@pytest.mark.parametrize(
    ("place", "kind", "name"),
    [(Place(), "MirroredStrategy", "_of_gpus"), (Place(2, 1), "MultiWorkerMirroredStrategy", "_of_workers")],
)
def test_each_call_gets_the_same_strategy(place: Place, kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow confuses the exchanges of two, so a program with a scope for each model failed at the second fit."""
    made = getattr(cluster, name)
    made.cache_clear()
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["a", "b"] if kind == "GPU" else [])
    monkeypatch.setattr(tf.distribute, kind, object)
    try:
        assert place.strategy() is place.strategy()
    finally:
        made.cache_clear()


def test_tpus_are_refused_and_not_left_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_WORKER_HOSTNAMES", "a,b")
    for place in (Place(), Place(2, 1)):
        with pytest.raises(ValueError, match=r"^strategy: this machine has TPUs, .*; create a .*TPUStrategy"):
            place.strategy()


def test_each_pass_over_the_data_has_every_example_once_in_a_new_order() -> None:
    order = Order(examples=12, global_batch=4, seed=1)
    steps = [order.indices(tf.constant(step, tf.int64), 0, 1).numpy().tolist() for step in range(6)]
    first, second = list(chain(*steps[:3])), list(chain(*steps[3:]))
    assert sorted(first) == sorted(second) == list(range(12))
    assert first != second
    assert first != list(range(12))


def test_replicas_share_a_batch_and_together_see_what_one_would() -> None:
    order = Order(examples=100, global_batch=8, seed=3)
    step = tf.constant(5, tf.int64)
    shares = [order.indices(step, replica, 4).numpy().tolist() for replica in range(4)]
    assert list(chain(*shares)) == order.indices(step, 0, 1).numpy().tolist()


def test_batches_from_a_later_step_on_are_those_of_the_whole_run() -> None:
    order = Order(examples=50, global_batch=10, seed=2)
    strategy = tf.distribute.get_strategy()
    whole = [batch.numpy().tolist() for batch in islice(order.batches(strategy, tf.identity, first_step=0), 7)]
    later = [batch.numpy().tolist() for batch in islice(order.batches(strategy, tf.identity, first_step=4), 3)]
    assert later == whole[4:]


def test_a_batch_that_cannot_be_shared_is_refused() -> None:
    strategy = two_replicas.strategy()
    with pytest.raises(ValueError, match="global_batch: 9 is not a multiple of 2 replicas; set 8 or 10"):
        Order(examples=10, global_batch=9, seed=1).batches(strategy, tf.identity, first_step=0)


def _write(text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        folder.mkdir()
        (folder / "saved_model.pb").write_text(text)

    return write


def test_runs_get_versions_in_turn_and_a_restarted_run_keeps_its_own(tmp_path: Path) -> None:
    base = tmp_path / "digits"
    assert publish(_write("one"), base, run="a") == 1
    assert publish(_write("two"), base, run="b") == 2
    assert publish(_write("other"), base, run="b") == 2
    assert (base / "2/saved_model.pb").read_text() == "two", "what is published stays"
    assert sorted(path.name for path in base.iterdir()) == ["1", "2"]


def test_a_run_that_comes_back_after_another_is_served_again(tmp_path: Path) -> None:
    for run in ("a", "b"):
        publish(_write(run), tmp_path, run=run)
    assert publish(_write("a"), tmp_path, run="a") == 3
    assert (tmp_path / "1/saved_model.pb").read_text() == (tmp_path / "3/saved_model.pb").read_text() == "a"


def test_a_killed_publication_is_invisible_and_done_anew(tmp_path: Path) -> None:
    def killed(folder: Path) -> None:
        folder.mkdir()
        (folder / "saved_model.pb").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(killed, tmp_path, run="a")
    assert not [path for path in tmp_path.iterdir() if path.name.isdecimal()]
    assert publish(_write("whole"), tmp_path, run="a") == 1
    assert (tmp_path / "1/saved_model.pb").read_text() == "whole"
    assert [path.name for path in tmp_path.iterdir()] == ["1"]
