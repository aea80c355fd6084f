"""What a machine says of itself; a stand-in answers as NVIDIA's library of the driver does."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tensorplane import machine


def _nvml(**others: Callable[..., int]) -> SimpleNamespace:
    """NVIDIA's library with two GPUs. Functions return 0, or another number if they fail."""

    def gives(value: int) -> Callable[[Any], int]:
        def get(pointer: Any) -> int:
            pointer._obj.value = value
            return 0

        return get

    def handle(index: int, device: Any) -> int:
        device._obj.value = index + 1
        return 0

    def driver(text: Any, _: int) -> int:
        text.value = b"550.54.15"
        return 0

    def name(_: Any, text: Any, __: int) -> int:
        text.value = b"NVIDIA H200"
        return 0

    found: dict[str, Callable[..., int]] = {
        "nvmlInit_v2": lambda: 0,
        "nvmlDeviceGetCount_v2": gives(2),
        "nvmlSystemGetCudaDriverVersion_v2": gives(12040),
        "nvmlSystemGetDriverVersion": driver,
        "nvmlDeviceGetHandleByIndex_v2": handle,
        "nvmlDeviceGetName": name,
        "nvmlDeviceGetUUID": _uuid,
    }
    return SimpleNamespace(**{**found, **others})


def _uuid(device: Any, text: Any, _: int) -> int:
    text.value = b"GPU-%d" % device.value
    return 0


def _uuid_of_the_second(device: Any, text: Any, length: int) -> int:
    return 3 if device.value == 1 else _uuid(device, text, length)


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    machine._gpus.cache_clear()
    yield
    machine._gpus.cache_clear()


def _having(monkeypatch: pytest.MonkeyPatch, nvml: SimpleNamespace | None) -> None:
    def load(name: str) -> SimpleNamespace:
        if nvml is None:
            raise OSError(f"{name}: cannot open shared object file")
        return nvml

    monkeypatch.setattr(ctypes, "CDLL", load)


def test_gpus_are_described_as_the_driver_says(monkeypatch: pytest.MonkeyPatch) -> None:
    _having(monkeypatch, _nvml())
    of_driver = {"name": "NVIDIA H200", "driver": "550.54.15", "cuda": "12.4"}
    assert machine.current({})["accelerators"] == [{**of_driver, "uuid": "GPU-1"}, {**of_driver, "uuid": "GPU-2"}]


@pytest.mark.parametrize("nvml", [None, _nvml(nvmlInit_v2=lambda: 9)])
def test_without_a_driver_there_are_no_accelerators(
    monkeypatch: pytest.MonkeyPatch, nvml: SimpleNamespace | None
) -> None:
    _having(monkeypatch, nvml)
    assert "accelerators" not in machine.current({})


def test_a_device_that_does_not_answer_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    _having(monkeypatch, _nvml(nvmlDeviceGetUUID=_uuid_of_the_second))
    assert [each.get("uuid") for each in machine.current({})["accelerators"]] == [None, "GPU-2"]


def test_a_tpu_is_what_gke_says(monkeypatch: pytest.MonkeyPatch) -> None:
    _having(monkeypatch, None)
    found = machine.current({"TPU_ACCELERATOR_TYPE": "v5litepod-4", machine.NODE: "gke-1"})
    assert found["accelerators"] == [{"name": "v5litepod-4"}]
    assert (found["node"], found["kernel"]) == ("gke-1", platform.release())


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ("processor\t: 0\nmodel name\t: AMD EPYC 7B13\nmodel\t: 1\n", "AMD EPYC 7B13"),
        ("processor\t: 0\nBogoMIPS\t: 50.00\n", platform.machine()),
    ],
)
def test_a_processor_is_its_model(tmp_path: Path, described: str, expected: str) -> None:
    (tmp_path / "cpuinfo").write_text(described)
    assert machine._processor(tmp_path / "cpuinfo") == expected
    assert machine._processor(tmp_path / "missing") == platform.machine()
