"""A stage that publishes to a model server: once for each model, and done once the server's gate has let it through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tensorplane import model_versions
from tensorplane.checkpoints.run_folder import TakenOver
from tensorplane.datasets import Dataset, Refused
from tensorplane.stages import plan, publish
from tensorplane.stages.description import Input, Stage
from tensorplane.stages.publish import published, served


class _Serving:
    """A model server that says what a test wants of its versions, and a stage that publishes to it."""

    def __init__(self, root: Path) -> None:
        self.states: dict[int, dict[str, Any]] = {}
        self.models = root / "served" / "digits"
        self.source, self.output = Dataset(root / "datasets/model"), Dataset(root / "datasets/live")
        self._root, self._runs = root, 0
        states = self.states

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.rpartition("/")[2]
                every = [{"version": str(number), **state} for number, state in states.items()]
                found = [each for each in every if name in ("digits", each["version"])]
                body = json.dumps({"model_version_status": found} if found else {"error": "not found"}).encode()
                self.send_response(200 if found else 404)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def stage(self, *, gated: bool = False) -> Stage:
        source = Input("model", "model", self.source.store.root, "datasets/model")
        port = self._http.server_address[1]
        about = {
            "server": "digits-server",
            "model": "digits",
            "folder": str(self.models),
            "url": f"http://127.0.0.1:{port}/v1/models/digits",
            "gated": gated,
        }
        return Stage(
            "digits", "serve", {"publish": "digits-server"}, (source,), "live", self.output.store.root,
            "datasets/live", {}, cache=False, publish=about,
        )  # fmt: skip

    def commit(self, content: str) -> str:
        folder = self._root / f"made-{content}"
        (folder / "variables").mkdir(parents=True, exist_ok=True)
        (folder / "saved_model.pb").write_text(content)
        (folder / "variables" / "data").write_text(content)
        return self.source.commit(folder, whole=True).id

    def publish(self, commit: str, stage: Stage | None = None) -> int:
        self._runs += 1
        run = f"digits-{self._runs}"
        (item,) = plan.plan(stage or self.stage(), run, {"model": commit})
        return published(stage or self.stage(), run, self._root / item["in-model"])

    def decide(self, *decisions: tuple[str, int, str]) -> None:
        record = self.models / ".rollouts" / "digits-server.jsonl"
        record.parent.mkdir(exist_ok=True)
        lines = [
            json.dumps({"number": number, "action": action, "version": version, "reason": reason})
            for number, (action, version, reason) in enumerate(decisions, 1)
        ]
        record.write_text("\n".join([*lines, '{"number": 9, "act']))


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[_Serving]:
    made = _Serving(tmp_path)
    yield made
    made.close()


def test_a_model_becomes_a_version_that_says_which_dataset_it_comes_from(serving: _Serving) -> None:
    commit = serving.commit("one")
    assert serving.publish(commit) == 1
    folder = serving.models / "1"
    assert (folder / "variables" / "data").read_text() == "one"
    found = json.loads((folder / "assets.extra" / "lineage.json").read_text())
    assert (found["pipeline"], found["stage"], found["run"]) == ("digits", "serve", "digits-1")
    assert found["inputs"] == [{"dataset": "model", "version": serving.source.resolve().version, "commit": commit}]


def test_the_newest_version_is_not_published_again_and_an_earlier_model_is(serving: _Serving) -> None:
    first = serving.commit("one")
    assert [serving.publish(first), serving.publish(first)] == [1, 1]
    assert serving.publish(serving.commit("two")) == 2
    assert serving.publish(first) == 3, "the data went back, and so does the server"
    assert model_versions.newest(serving.models) == 3


@pytest.mark.parametrize("cut_off", ["before it publishes", "before the rename"])
@pytest.mark.parametrize("again", [False, True], ids=["another run", "another pod of the run"])
def test_a_pod_that_was_cut_off_publishes_nothing_once_another_one_has(
    serving: _Serving, monkeypatch: pytest.MonkeyPatch, cut_off: str, again: bool
) -> None:
    """It goes on when the other one has done its work, and its model may be an older one."""
    first, second = serving.commit("one"), serving.commit("one" if again else "two")
    (item,) = plan.plan(serving.stage(), "digits-0", {"model": first})
    copied, root = publish._copied, serving.source.store.root.parents[1]
    folder = root / item["in-model"]

    def other() -> None:
        monkeypatch.setattr(publish, "_copied", copied)
        run = "digits-0" if again else "digits-1"
        (model,) = [item] if again else plan.plan(serving.stage(), run, {"model": second})
        assert published(serving.stage(), run, root / model["in-model"]) == 1
        plan.finish(serving.stage(), run)

    def paused(*args: Any) -> None:
        copied(*args)
        other()

    if cut_off == "before it publishes":
        other()
        # What it has read of the plan.
        read = plan.Plan((), ({"dataset": "model", "version": "1", "commit": first},))
        monkeypatch.setattr(plan.Plan, "read", lambda _: read)
    else:
        monkeypatch.setattr(publish, "_copied", paused)
    with pytest.raises(TakenOver):
        published(serving.stage(), "digits-0", folder)
    assert model_versions.versions(serving.models) == [1]
    assert (serving.models / "1" / "variables" / "data").read_text() == ("one" if again else "two")
    assert [path.name for path in serving.models.glob(".writers-*/*")] == []


def test_the_result_is_the_version_once_the_server_answers_for_it(serving: _Serving, tmp_path: Path) -> None:
    looks: list[int] = []

    def pause() -> None:
        looks.append(len(looks))
        serving.states[1] = {"state": "LOADING" if len(looks) == 1 else "AVAILABLE", "status": {}}

    served(serving.stage(), 1, tmp_path, pause)
    assert len(looks) == 2
    assert json.loads((tmp_path / "served.json").read_text()) == {
        "server": "digits-server", "model": "digits", "version": 1,
    }  # fmt: skip


def test_a_version_with_a_gate_is_served_only_once_it_is_promoted(serving: _Serving, tmp_path: Path) -> None:
    stage = serving.stage(gated=True)
    serving.publish(serving.commit("one"), stage)
    # The canary answers for it while the gate is still measuring.
    serving.states[1] = {"state": "AVAILABLE", "status": {}}
    steps = iter([("CanaryStarted", 1, "tried"), ("Promoted", 1, "accuracy 0.97, at least 0.9")])
    seen: list[tuple[str, int, str]] = []

    def pause() -> None:
        seen.append(next(steps))
        serving.decide(*seen)

    served(stage, 1, tmp_path, pause)
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("decisions", "line"),
    [
        (
            [("CanaryStarted", 1, "tried"), ("RolledBack", 1, "accuracy 0.5, below 0.9")],
            "digits-server: version 1 is not served: accuracy 0.5, below 0.9",
        ),
        (
            [("Promoted", 2, "passed")],
            "digits-server: version 1 was not tried: a newer one was published meanwhile",
        ),
    ],
)
def test_a_version_that_is_never_served_fails_the_stage_with_the_reason(
    serving: _Serving, tmp_path: Path, decisions: list[tuple[str, int, str]], line: str
) -> None:
    stage = serving.stage(gated=True)
    serving.publish(serving.commit("one"), stage)
    serving.decide(*decisions)
    with pytest.raises(Refused) as refused:
        served(stage, 1, tmp_path, lambda: pytest.fail("waits"))
    assert str(refused.value) == line
    assert not (tmp_path / "served.json").exists()


def test_a_version_that_was_refused_is_waited_for_if_it_is_tried_again(serving: _Serving, tmp_path: Path) -> None:
    stage = serving.stage(gated=True)
    serving.publish(serving.commit("one"), stage)
    serving.states[1] = {"state": "AVAILABLE", "status": {}}
    before = [("RolledBack", 1, "too slow"), ("CanaryStarted", 1, "tried")]
    serving.decide(*before)
    served(stage, 1, tmp_path, lambda: serving.decide(*before, ("Promoted", 1, "passed")))


def test_a_decision_that_a_former_controller_writes_late_is_not_the_last_one(serving: _Serving, tmp_path: Path) -> None:
    stage = serving.stage(gated=True)
    serving.publish(serving.commit("one"), stage)
    serving.states[1] = {"state": "AVAILABLE", "status": {}}
    serving.decide(("CanaryStarted", 1, "tried"), ("Promoted", 1, "passed"))
    record = serving.models / ".rollouts" / "digits-server.jsonl"
    first, *others = record.read_text().splitlines()
    record.write_text("\n".join([*others[:1], first, *others[1:]]))
    served(stage, 1, tmp_path, lambda: pytest.fail("waits"))


def test_a_model_that_the_server_cannot_load_fails_the_stage(serving: _Serving, tmp_path: Path) -> None:
    serving.states[1] = {"state": "END", "status": {"error_message": "no graph"}}
    with pytest.raises(Refused, match=r"^digits-server: cannot load version 1: no graph$"):
        served(serving.stage(), 1, tmp_path, lambda: pytest.fail("waits"))


@pytest.mark.parametrize("state", [None, {"state": "END", "status": {}}])
def test_a_version_that_a_newer_one_has_replaced_fails_the_stage(
    serving: _Serving, tmp_path: Path, state: dict[str, Any] | None
) -> None:
    serving.states.update({1: state or {"state": "LOADING"}, 2: {"state": "AVAILABLE", "status": {}}})

    def pause() -> None:
        assert state is None, "waits"
        del serving.states[1]

    expected = "^digits-server: version 1 is not served: version 2 was published meanwhile, and replaced it$"
    with pytest.raises(Refused, match=expected):
        served(serving.stage(), 1, tmp_path, pause)


def test_a_version_that_was_promoted_and_replaced_at_once_fails_the_stage(serving: _Serving, tmp_path: Path) -> None:
    stage = serving.stage(gated=True)
    serving.publish(serving.commit("one"), stage)
    serving.states[2] = {"state": "AVAILABLE", "status": {}}
    serving.decide(("Promoted", 1, "passed"), ("CanaryStarted", 2, "tried"))
    pauses: list[int] = []

    def pause() -> None:
        assert not pauses
        pauses.append(1)
        serving.decide(("Promoted", 1, "passed"), ("CanaryStarted", 2, "tried"), ("Promoted", 2, "passed"))

    with pytest.raises(Refused, match=r"^digits-server: version 1 is not served: version 2 was published"):
        served(stage, 1, tmp_path, pause)


def test_what_is_no_saved_model_is_not_published(serving: _Serving) -> None:
    folder = serving.models.parents[1] / "weights"
    folder.mkdir()
    (folder / "weights.npz").write_text("")
    with pytest.raises(Refused, match=r"has no saved_model\.pb"):
        serving.publish(serving.source.commit(folder, whole=True).id)
    assert not serving.models.exists()


def test_a_stage_that_publishes_is_never_skipped(serving: _Serving) -> None:
    commit = serving.commit("one")
    stage = replace(serving.stage(), cache=False)
    assert all(plan.plan(stage, run, {"model": commit}) for run in ("digits-1", "digits-2"))


def test_a_model_that_does_not_fit_leaves_no_draft(tmp_path: Path) -> None:
    def write(draft: Path) -> None:
        draft.mkdir()
        (draft / "variables").write_text("half of it")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        model_versions.add(write, tmp_path / "served", "model@1")
    assert list((tmp_path / "served").iterdir()) == []
