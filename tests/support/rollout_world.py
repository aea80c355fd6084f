"""A cluster for a rollout's controller: Deployments whose pods start late and load versions, a Gateway that follows its
routes late, and a client that asks."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tensorplane.agents.rollout.cluster import PodStatus
from tensorplane.agents.rollout.controller import Controller
from tensorplane.agents.rollout.decide import Track
from tensorplane.agents.rollout.gates import ERROR_RATE, Gate
from tensorplane.agents.rollout.spec import Rollout, RolloutSpec
from tensorplane.agents.rollout.state import RolloutDecision, RolloutState

REPLICAS = 4


class KilledError(Exception):
    """The controller was killed."""


def spec(folder: Path, **changed: Any) -> RolloutSpec:
    """A server whose canary is one of four pods, and needs 20 requests with at most a tenth of errors."""
    rollout = Rollout(REPLICAS, 1, [Gate(ERROR_RATE, 0.1, 20)], deadline_seconds=3600, digest="1")
    return RolloutSpec("digits-server", "digits", folder, replace(rollout, **changed))


@dataclass
class Server:
    """One pod, as the controller reaches it."""

    canary: bool
    version: int | None
    starting: int
    """Looks until it is Ready."""
    requests: int = 0
    errors: int = 0
    admitted: bool = False

    @property
    def ready(self) -> bool:
        return not self.starting and (self.admitted or not self.canary)


@dataclass
class World:
    """Pods that follow their Deployments. Requests go to Ready pods at random, with routes as their weights say."""

    folder: Path
    chance: random.Random
    kill_chance: float = 0.0
    broken: set[int] = field(default_factory=set)
    """Versions that no server can load."""
    wrong: set[int] = field(default_factory=set)
    """Versions that answer with errors."""
    other: set[int] = field(default_factory=set)
    """Versions with another signature."""
    routes: dict[str, int | None] = field(default_factory=dict)
    """The canary's part of the requests of each route, in percent; None: not divided."""
    replicas: dict[bool, int] = field(default_factory=lambda: {False: REPLICAS, True: 0})
    config: dict[bool, int | None] = field(default_factory=lambda: {False: None, True: None})
    events: dict[int, RolloutDecision] = field(default_factory=dict)
    servers: dict[str, Server] = field(default_factory=dict)
    answered: list[int] = field(default_factory=list)
    """The version behind each answer."""
    unanswered: int = 0
    least_ready: int = REPLICAS
    _followed: dict[str, int | None] = field(default_factory=dict)
    """The routes as the Gateway has read them: those of the look before."""
    _text: str = ""
    _started: int = 0

    def publish(self, version: int) -> None:
        folder = self.folder / str(version)
        folder.mkdir(parents=True)
        (folder / "saved_model.pb").write_bytes(b"graph")

    # What the controller asks of the cluster.

    def read_state(self) -> RolloutState:
        return RolloutState.from_json(self._text)

    def write_state(self, state: RolloutState) -> None:
        self._write(lambda: setattr(self, "_text", state.to_json()))

    def get_track(self, *, canary: bool) -> Track:
        return Track(self.replicas[canary], self.config[canary])

    def list_pods(self) -> list[PodStatus]:
        return [
            PodStatus(
                name,
                name,
                one.canary,
                labelled=bool(self.routes),
                ready=one.ready,
                started=not one.starting,
                admitted=one.admitted,
                failed="",
                annotated="",
            )
            for name, one in self.servers.items()
        ]

    def has_terminating_pods(self, *, canary: bool) -> bool:
        return False

    def configure(self, version: int | None, *, canary: bool) -> None:
        assert not (canary and any(one.canary for one in self.servers.values())), "canary pods start with their version"
        self._write(lambda: self.config.__setitem__(canary, version))

    def annotate(self, pod: str, version: int | None) -> None:
        pass

    def admit(self, pod: str) -> None:
        self._write(lambda: setattr(self.servers[pod], "admitted", True))

    def scale(self, replicas: int, *, canary: bool) -> None:
        ends = canary and replicas < self.replicas[True]
        assert not (ends and any(self.routes.values())), "a canary ends once no route leads to it"
        self._write(lambda: self.replicas.__setitem__(canary, replicas))

    def get_weights(self) -> Mapping[str, int | None]:
        return dict(self.routes)

    def set_weight(self, route: str, weight: int) -> None:
        ready = {one.canary for one in self.servers.values() if one.ready}
        assert ready >= ({False, True} if weight else {False}), "a track is Ready before it gets requests"
        self._write(lambda: self.routes.__setitem__(route, weight))

    def create_event(self, decision: RolloutDecision) -> None:
        self._write(lambda: self.events.__setitem__(decision.number, decision))

    def _write(self, change: Any) -> None:
        """The controller may be killed before or after each write."""
        if self.chance.random() < self.kill_chance:
            raise KilledError
        change()
        if self.chance.random() < self.kill_chance:
            raise KilledError

    def connect(self, address: str, model: str) -> Any:
        return _Client(self, self.servers[address])

    # What happens meanwhile.

    def pass_time(self) -> None:
        """Pods start and stop, stable ones read their file again, and clients ask."""
        for canary, wanted in self.replicas.items():
            own = [name for name, one in self.servers.items() if one.canary is canary]
            for name in own[wanted:]:
                del self.servers[name]
            for _ in range(wanted - len(own)):
                self._started += 1
                self.servers[f"pod-{self._started}"] = Server(canary, None, starting=self.chance.randrange(1, 4))
        for one in self.servers.values():
            self._load(one)
        ready = [one for one in self.servers.values() if one.ready]
        self.least_ready = min(self.least_ready, len(ready)) if self.answered else REPLICAS
        for _ in range(10):
            self._ask(self._behind_a_route(ready) if self.routes else ready)
        self._followed = dict(self.routes)

    def _behind_a_route(self, ready: Sequence[Server]) -> list[Server]:
        weight = self._followed.get(self.chance.choice(sorted(self.routes)))
        if weight is None:
            # The server's own Service, which finds all pods.
            return list(ready)
        canary = self.chance.randrange(100) < weight
        return [one for one in ready if one.canary is canary]

    def _load(self, one: Server) -> None:
        wanted = self.config[one.canary]
        if wanted is None:
            wanted = max((int(path.name) for path in self.folder.iterdir() if path.name.isdecimal()), default=None)
        if wanted is not None and wanted not in self.broken and (self.folder / str(wanted)).exists():
            one.version = wanted
        if one.version is not None:
            one.starting = max(0, one.starting - 1)

    def _ask(self, ready: Sequence[Server]) -> None:
        if not ready:
            self.unanswered += bool(self.answered)
            return
        one = self.chance.choice(ready)
        one.requests += 1
        one.errors += one.version in self.wrong
        self.answered.append(one.version or 0)


@dataclass(frozen=True)
class _Client:
    world: World
    one: Server

    def versions(self) -> tuple[frozenset[int], Mapping[int, str]]:
        wanted = self.world.config[self.one.canary]
        failed = {wanted: "cannot be loaded: no graph"} if wanted in self.world.broken else {}
        return frozenset({self.one.version} - {None}), failed  # type: ignore[arg-type]

    def metadata(self, version: int) -> Mapping[str, Any]:
        dtype = "DT_STRING" if version in self.world.other else "DT_FLOAT"
        inputs = {"x": {"dtype": dtype, "tensor_shape": {"dim": [{"size": "-1"}]}}}
        return {"metadata": {"signature_def": {"signature_def": {"serving_default": {"inputs": inputs}}}}}

    def metrics(self) -> str:
        good = self.one.requests - self.one.errors
        name = ':tensorflow:serving:request_count{model_name="digits",status='
        return f'{name}"OK"}} {good}\n{name}"INTERNAL"}} {self.one.errors}\n'


def settle(world: World, settings: RolloutSpec, looks: int = 60) -> int:
    """Let controllers look this often, each until it is killed. Returns how many were killed."""
    kills = 0
    controller = Controller(settings, world, connect=world.connect)
    for _ in range(looks):
        try:
            controller.reconcile()
        except KilledError:
            kills += 1
            controller = Controller(settings, world, connect=world.connect)
        world.pass_time()
    return kills
