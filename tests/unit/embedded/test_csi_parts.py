"""The CSI driver's small parts: ids, sizes, pages, turns, what requests may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.embedded.csi import controller, pool, requested
from tensorplane.embedded.csi.contract import MIRROR
from tensorplane.embedded.csi.generated import csi_pb2
from tensorplane.embedded.csi.path_locks import PathLocks
from tensorplane.embedded.csi.records import Snapshot, identifier, is_identifier
from tensorplane.embedded.csi.refusal import Refusal
from tensorplane.embedded.csi.sizes import SizeRange

Capability = csi_pb2.VolumeCapability


@given(st.text(min_size=1, max_size=128))
def test_an_id_is_a_harmless_file_name(name: str) -> None:
    made = identifier(name)
    assert is_identifier(made)
    assert identifier(made) == made
    assert len(made) <= 63


def test_ids_of_different_names_differ() -> None:
    names = ["pvc-1", "PVC-1", "pvc_1", "pvc-1 ", "..", "a" * 127 + "b", "a" * 127 + "c"]
    assert len({identifier(name) for name in names}) == len(names)
    assert identifier("pvc-1") == "pvc-1"


@given(st.sets(st.integers(0, 50)), st.integers(1, 5))
def test_pages_hold_everything_once(moments: set[int], most: int) -> None:
    found = [Snapshot(f"s{moment}", "", 0, moment, "v") for moment in sorted(moments)]
    token, seen, pages_read = "", [], 0
    while pages_read == 0 or token:
        some, token = controller.page(found, most, token)
        seen += some
        pages_read += 1
        assert len(some) <= most
    assert seen == found


def test_a_page_continues_after_the_last_one_even_if_its_end_was_deleted() -> None:
    first, second, third, later = (Snapshot(f"s{n}", "", 0, n, "v") for n in range(4))
    some, token = controller.page([first, second, third], 2, "")
    assert some == [first, second]
    assert controller.page([third, later], 0, token) == ([third, later], "")
    with pytest.raises(Refusal, match="start again"):
        controller.page([first], 0, "nonsense")


def test_the_second_of_two_calls_is_told_to_retry() -> None:
    turns, one, other = PathLocks(), Path("one"), Path("other")
    with turns.hold(one, read=other):
        with turns.hold(Path("third"), read=other):
            pass
        for changed, read in ((one, None), (other, None), (Path("third"), one)):
            with pytest.raises(Refusal, match="another call"), turns.hold(changed, read):
                pass
    with turns.hold(other):
        pass


@pytest.mark.parametrize(
    ("asked", "smallest", "chosen"),
    [(SizeRange(), None, 1 << 30), (SizeRange(5 << 20), None, 5 << 20), (SizeRange(1), None, 1 << 20),
     (SizeRange(), 7 << 20, 7 << 20), (SizeRange(0, 9 << 20), 7 << 20, 7 << 20),
     (SizeRange(0, 9 << 20), None, 9 << 20)],
)  # fmt: skip
def test_a_size_is_chosen_in_the_range(asked: SizeRange, smallest: int | None, chosen: int) -> None:
    assert asked.choose(smallest, largest=1 << 40) == chosen
    assert asked.holds(chosen) or chosen == 1 << 20


@pytest.mark.parametrize(
    ("capability", "reason"),
    [
        (Capability(block=Capability.BlockVolume()), "must be of kind mount"),
        (Capability(mount=Capability.MountVolume()), "access_mode: missing"),
        (Capability(mount=Capability.MountVolume(fs_type="ext4"), access_mode={"mode": 1}), "'ext4' is not supported"),
        (
            Capability(mount=Capability.MountVolume(mount_flags=["suid"]), access_mode={"mode": 1}),
            "'suid' is not supported",
        ),
    ],
)
def test_unsupported_capabilities_are_refused(capability: csi_pb2.VolumeCapability, reason: str) -> None:
    assert reason in requested.unsupported(capability)


def test_every_access_mode_will_do_and_readers_only_read() -> None:
    modes = [mode for mode in Capability.AccessMode.Mode.values() if mode]
    made = [Capability(mount=Capability.MountVolume(), access_mode={"mode": mode}) for mode in modes]
    assert not any(requested.unsupported(one) for one in made)
    readers = {Capability.AccessMode.Mode.Name(one.access_mode.mode) for one in made if requested.is_read_only(one)}
    assert readers == {"SINGLE_NODE_READER_ONLY", "MULTI_NODE_READER_ONLY"}


def test_a_class_has_no_parameters() -> None:
    requested.check_parameters({"csi.storage.k8s.io/pvc/name": "data"})
    with pytest.raises(Refusal, match="unknown 'type'"):
        requested.check_parameters({"type": "fast"})


@pytest.mark.parametrize(
    ("text", "has_mirror", "reason"),
    [
        ("60", False, "has no second pool"),
        ("-1", True, "'-1' is not a whole number"),
        ("1h", True, "'1h' is not a whole number"),
    ],
)
def test_an_impossible_mirror_is_refused(text: str, has_mirror: bool, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        requested.mirror_seconds({MIRROR: text}, has_mirror=has_mirror)


def test_a_mirror_is_off_or_as_old_as_said_or_not_spoken_of() -> None:
    said = [requested.mirror_seconds(told, has_mirror=True) for told in ({MIRROR: "60"}, {})]
    assert said == [60, None]
    assert requested.mirror_seconds({MIRROR: "0"}, has_mirror=False) == 0


def test_volumes_in_a_plain_folder_are_never_hidden_below_a_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "can_have_btrfs", lambda: True)
    (tmp_path / "pool" / "volumes").mkdir(parents=True)
    pool.make_and_mount(tmp_path / "volumes.btrfs", tmp_path / "pool", 1)
    assert not (tmp_path / "volumes.btrfs").exists()
    assert (tmp_path / "pool" / "volumes").is_dir()
