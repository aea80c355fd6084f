"""Random calls against a model in Python, with the driver killed in the middle of some of them.

They follow from the seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tensorplane.embedded.csi.generated import csi_pb2
from tests.csi.client import capability, of_snapshot, of_volume
from tests.csi.driver import Driver, empty
from tests.support import counts

pytestmark = [
    pytest.mark.counted,
    pytest.mark.nightly("hundreds of restarts; told by test_killed, which is exhaustive"),
]

SEED = counts.seed()
OPERATIONS = counts.of(quick=1000, nightly=10000)
STEPS = 40
MIB = 1 << 20
CODES = grpc.StatusCode

names = st.sampled_from(["a", "b", "Volume C", "d" * 100])
sizes = st.sampled_from([1, 2, 4])
files = st.sampled_from(["one", "two", "folder/three"])
# At which change of the disk the driver ends itself; mostly not at all.
kills = st.one_of(st.none(), st.none(), st.none(), st.integers(0, 12))


@dataclass
class Expected:
    """A volume or a snapshot as it should be."""

    id: str
    size: int
    source: tuple[str, str] | None
    content: dict[str, bytes] = field(default_factory=dict)


class Volumes(RuleBasedStateMachine):
    """Each rule makes a call and says what must come of it."""

    driver: Driver

    def __init__(self) -> None:
        super().__init__()
        empty(self.driver)
        self.volumes: dict[str, Expected] = {}
        self.snapshots: dict[str, Expected] = {}

    def call(self, method: str, kill: int | None, **fields: Any) -> Any:
        """A call; one whose driver was killed is repeated, as Kubernetes does. Gives the answer or the refusal."""
        if kill is not None:
            self.driver.die_in(lambda: getattr(self.driver.client, method)(**fields), kill)
        try:
            return getattr(self.driver.client, method)(**fields)
        except grpc.RpcError as error:
            return error.code()

    @rule(name=names, mib=sizes, kill=kills)
    def create(self, name: str, mib: int, kill: int | None) -> None:
        self._create(name, mib, kill, None, None)

    @precondition(lambda self: self.volumes)
    @rule(data=st.data(), name=names, mib=sizes, kill=kills)
    def clone(self, data: st.DataObject, name: str, mib: int, kill: int | None) -> None:
        origin = self.volumes[data.draw(st.sampled_from(sorted(self.volumes)))]
        self._create(name, mib, kill, origin, ("volume", origin.id))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data(), name=names, mib=sizes, kill=kills)
    def restore(self, data: st.DataObject, name: str, mib: int, kill: int | None) -> None:
        origin = self.snapshots[data.draw(st.sampled_from(sorted(self.snapshots)))]
        self._create(name, mib, kill, origin, ("snapshot", origin.id))

    def _create(
        self, name: str, mib: int, kill: int | None, origin: Expected | None, source: tuple[str, str] | None
    ) -> None:
        made_of = {"volume": of_volume, "snapshot": of_snapshot}[source[0]](source[1]) if source else None
        answer = self.call(
            "CreateVolume",
            kill,
            name=name,
            capacity_range=csi_pb2.CapacityRange(required_bytes=mib * MIB, limit_bytes=mib * MIB),
            volume_capabilities=[capability()],
            volume_content_source=made_of,
        )
        there = self.volumes.get(name)
        if there and (there.source != source or there.size != mib * MIB):
            assert answer is CODES.ALREADY_EXISTS
        elif there:
            assert answer.volume.volume_id == there.id
        elif origin and origin.size > mib * MIB:
            assert answer is CODES.OUT_OF_RANGE
        else:
            assert answer.volume.capacity_bytes == mib * MIB
            self.volumes[name] = Expected(
                answer.volume.volume_id, mib * MIB, source, dict(origin.content if origin else {})
            )

    @precondition(lambda self: self.volumes)
    @rule(data=st.data(), name=files, content=st.binary(max_size=9000))
    def write(self, data: st.DataObject, name: str, content: bytes) -> None:
        volume = self.volumes[data.draw(st.sampled_from(sorted(self.volumes)))]
        path = self.driver.volume(volume.id) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        volume.content[name] = content

    @precondition(lambda self: self.volumes)
    @rule(data=st.data(), name=files)
    def remove(self, data: st.DataObject, name: str) -> None:
        volume = self.volumes[data.draw(st.sampled_from(sorted(self.volumes)))]
        (self.driver.volume(volume.id) / name).unlink(missing_ok=True)
        volume.content.pop(name, None)

    @precondition(lambda self: self.volumes)
    @rule(data=st.data(), name=names, kill=kills)
    def snapshot(self, data: st.DataObject, name: str, kill: int | None) -> None:
        volume = self.volumes[data.draw(st.sampled_from(sorted(self.volumes)))]
        answer = self.call("CreateSnapshot", kill, name=name, source_volume_id=volume.id)
        there = self.snapshots.get(name)
        if there and there.source != ("volume", volume.id):
            assert answer is CODES.ALREADY_EXISTS
        elif there:
            assert answer.snapshot.snapshot_id == there.id
        else:
            made = answer.snapshot
            assert made.ready_to_use and made.size_bytes == volume.size
            source = ("volume", volume.id)
            self.snapshots[name] = Expected(made.snapshot_id, volume.size, source, dict(volume.content))

    @precondition(lambda self: self.volumes)
    @rule(data=st.data(), mib=sizes, kill=kills)
    def expand(self, data: st.DataObject, mib: int, kill: int | None) -> None:
        volume = self.volumes[data.draw(st.sampled_from(sorted(self.volumes)))]
        size = csi_pb2.CapacityRange(required_bytes=mib * MIB)
        answer = self.call("ControllerExpandVolume", kill, volume_id=volume.id, capacity_range=size)
        volume.size = max(volume.size, mib * MIB)
        assert answer.capacity_bytes == volume.size

    @precondition(lambda self: self.volumes)
    @rule(data=st.data(), kill=kills)
    def delete_volume(self, data: st.DataObject, kill: int | None) -> None:
        volume = self.volumes.pop(data.draw(st.sampled_from(sorted(self.volumes))))
        assert isinstance(self.call("DeleteVolume", kill, volume_id=volume.id), csi_pb2.DeleteVolumeResponse)

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data(), kill=kills)
    def delete_snapshot(self, data: st.DataObject, kill: int | None) -> None:
        snapshot = self.snapshots.pop(data.draw(st.sampled_from(sorted(self.snapshots))))
        answer = self.call("DeleteSnapshot", kill, snapshot_id=snapshot.id)
        assert isinstance(answer, csi_pb2.DeleteSnapshotResponse)

    @invariant()
    def nothing_else_is_there(self) -> None:
        volumes = {e.volume.volume_id: e.volume.capacity_bytes for e in self.driver.client.ListVolumes().entries}
        assert volumes == {kept.id: kept.size for kept in self.volumes.values()}
        snapshots = {e.snapshot.snapshot_id for e in self.driver.client.ListSnapshots().entries}
        assert snapshots == {kept.id for kept in self.snapshots.values()}
        for at, kept in (
            (self.driver.volume, self.volumes),
            (self.driver.snapshot, self.snapshots),
        ):
            left = {path.name for path in at("").iterdir() if path.name[0] != "."}
            assert left == {f"{one.id}{end}" for one in kept.values() for end in ("", ".json")}
            for one in kept.values():
                root = at(one.id)
                found = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
                assert found == one.content


def _run(driver: Driver, operations: int) -> None:
    machine = type("Machine", (Volumes,), {"driver": driver})
    chosen = settings(
        max_examples=max(1, operations // STEPS),
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(SEED)(machine), settings=chosen)


def test_volumes_are_what_the_model_says(driver: Driver) -> None:
    _run(driver, OPERATIONS)


def test_copies_are_what_the_model_says(copying_driver: Driver) -> None:
    _run(copying_driver, OPERATIONS // 4)  # the slower of the two, and no machine's first choice
    empty(copying_driver)
