"""Random changes of claims and snapshots against a model in Python, with the driver killed in the middle of some.

They follow from the seed.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.storage.claims import CLAIMS, PODS, SNAPSHOTS, Claims, from_claim, from_snapshot
from tests.support import counts

SEED = counts.seed()
OPERATIONS = counts.of(quick=10, nightly=100)
CLASS = "model"
NAMES = [f"model-{number}" for number in range(4)]
SIZES = [16, 32, 64, 128]
KILLED = 0.4
"""Share of the operations in the middle of which the driver is killed."""
LONGEST = 0.6
"""Seconds after an operation began, within which that happens: most take longer."""
VOLUMES = "/api/v1/persistentvolumes"
CONTENTS = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"


@dataclass(frozen=True)
class Expected:
    """What a claim or a snapshot should be: its size and the text of each of its files."""

    mib: int
    files: dict[str, str] = field(default_factory=dict)


class Model:
    """Makes one random operation after the other, in the cluster and in two dictionaries."""

    def __init__(self, claims: Claims) -> None:
        self.real = claims
        self.chance = random.Random(SEED)
        self.claims: dict[str, Expected] = {}
        self.snapshots: dict[str, Expected] = {}
        self.made: Counter[str] = Counter()

    def step(self) -> None:
        """One operation, of those that are possible now one of the rarest so far."""
        possible = [one for one in self._operations() if one]
        rarest = min(self.made[one.__name__] for one in possible)
        operation = self.chance.choice([one for one in possible if self.made[one.__name__] == rarest])
        with self._killing(self.chance.uniform(0, LONGEST) if self.chance.random() < KILLED else None):
            operation()
        self.made[operation.__name__] += 1

    def _operations(self) -> list[Callable[[], None] | None]:
        free, shot = len(self.claims) < len(NAMES), len(self.snapshots) < len(NAMES)
        return [
            self.create if free else None,
            *((self.write, self.expand, self.shrink, self.delete_claim) if self.claims else ()),
            self.clone if self.claims and free else None,
            self.snapshot if self.claims and shot else None,
            *((self.delete_snapshot,) if self.snapshots else ()),
            self.restore if self.snapshots and free else None,
        ]

    @contextmanager
    def _killing(self, after: float | None) -> Iterator[None]:
        if after is None:
            yield
            return

        def kill() -> None:
            time.sleep(after)  # any moment is right
            self.real.kill_driver()

        with ThreadPoolExecutor(1) as beside:
            killed = beside.submit(kill)
            yield
            killed.result()
        self.real.until_driver_runs()

    def _free(self, taken: dict[str, Expected]) -> str:
        return self.chance.choice([name for name in NAMES if name not in taken])

    def _any(self, there: dict[str, Expected]) -> str:
        return self.chance.choice(sorted(there))

    def _make(self, origin: Expected | None, source: Any) -> None:
        """Each gets a file of its own from the start: a copy of the wrong one is seen."""
        name = self._free(self.claims)
        mib = self.chance.choice([size for size in SIZES if not origin or size >= origin.mib])
        self.real.claim(name, mib=mib, source=source, of_class=CLASS)
        text = f"{self.chance.randrange(10**6)}"
        (self._folder(self._volume(name)) / f"of-{name}").write_text(text)
        self.claims[name] = Expected(mib, {**(origin.files if origin else {}), f"of-{name}": text})

    def create(self) -> None:
        self._make(None, None)

    def clone(self) -> None:
        origin = self._any(self.claims)
        self._make(self.claims[origin], from_claim(origin))

    def restore(self) -> None:
        origin = self._any(self.snapshots)
        self._make(self.snapshots[origin], from_snapshot(origin))

    def write(self) -> None:
        """By a pod of its own, which reads first what is there."""
        claim = self._any(self.claims)
        name, text = f"file-{self.chance.randrange(3)}", f"{self.chance.randrange(10**6)}"
        run = self.real.pod("model-writer", claim)
        files = self.claims[claim].files
        assert run("sh", "-c", "cd /data; for file in *; do [ -e $file ] && echo $file $(cat $file); done; true") == (
            "".join(f"{one} {files[one]}\n" for one in sorted(files))
        )
        run("sh", "-c", f"echo -n {text} > /data/{name}")
        self.real.kube.delete(f"{PODS}/model-writer")
        self.real.until_gone(f"{PODS}/model-writer")
        files[name] = text

    def expand(self) -> None:
        name = self._any(self.claims)
        mib = self.chance.choice([size for size in SIZES if size >= self.claims[name].mib])
        self.real.claim(name, mib=mib, of_class=CLASS, source=self._source(name))
        self.real.until(f"{CLAIMS}/{name}", lambda found: found["status"]["capacity"]["storage"] == f"{mib}Mi")
        self.claims[name] = replace(self.claims[name], mib=mib)

    def shrink(self) -> None:
        name = self._any(self.claims)
        with pytest.raises(Exception, match="can not be less than"):
            self.real.claim(name, mib=self.claims[name].mib // 2, of_class=CLASS, source=self._source(name))

    def _source(self, name: str) -> Any:
        """What the claim was made of: a claim's source never changes."""
        found = self.real.kube.get(f"{CLAIMS}/{name}")
        assert found
        return found["spec"].get("dataSource")

    def snapshot(self) -> None:
        origin, name = self._any(self.claims), self._free(self.snapshots)
        self.real.snapshot(name, origin, of_class=CLASS)
        self.snapshots[name] = replace(self.claims[origin], files=dict(self.claims[origin].files))

    def delete_claim(self) -> None:
        name = self._any(self.claims)
        volume = self._volume(name)["metadata"]["name"]
        self.real.kube.delete(f"{CLAIMS}/{name}")
        for gone in (f"{CLAIMS}/{name}", f"{VOLUMES}/{volume}"):
            self.real.until_gone(gone)
        del self.claims[name]

    def delete_snapshot(self) -> None:
        name = self._any(self.snapshots)
        content = self._content(name)["metadata"]["name"]
        self.real.kube.delete(f"{SNAPSHOTS}/{name}")
        for gone in (f"{SNAPSHOTS}/{name}", f"{CONTENTS}/{content}"):
            self.real.until_gone(gone)
        del self.snapshots[name]

    def _volume(self, claim: str) -> dict[str, Any]:
        found = self.real.kube.get(f"{CLAIMS}/{claim}")
        volume = found and self.real.kube.get(f"{VOLUMES}/{found['spec']['volumeName']}")
        assert volume
        return volume

    def _folder(self, volume: dict[str, Any]) -> Path:
        return self.real.pool / "volumes" / str(volume["spec"]["csi"]["volumeHandle"])

    def _content(self, snapshot: str) -> dict[str, Any]:
        found = self.real.kube.get(f"{SNAPSHOTS}/{snapshot}")
        content = found and self.real.kube.get(f"{CONTENTS}/{found['status']['boundVolumeSnapshotContentName']}")
        assert content
        return content

    def check(self, others: set[Path]) -> None:
        """The cluster and the pool hold what the dictionaries say, and nothing else."""
        assert self._names(CLAIMS) == set(self.claims)
        assert self._names(SNAPSHOTS) == set(self.snapshots)
        folders = {}
        for name, kept in self.claims.items():
            volume = self._volume(name)
            assert volume["spec"]["capacity"]["storage"] == f"{kept.mib}Mi"
            folders[self._folder(volume)] = kept.files
        for name, kept in self.snapshots.items():
            status = self._content(name)["status"]
            assert status["readyToUse"] and status["restoreSize"] == kept.mib << 20
            folders[self.real.pool / "snapshots" / status["snapshotHandle"]] = kept.files
        assert in_pool(self.real) - others == set(folders)
        for folder, files in folders.items():
            assert {path.name: path.read_text() for path in folder.iterdir()} == files

    def _names(self, path: str) -> set[str]:
        found = {one["metadata"]["name"] for one in self.real.kube.items(path)}
        return found & set(NAMES)


def in_pool(claims: Claims) -> set[Path]:
    """Every volume and snapshot that the driver has; hidden ones are its own, for mirrors."""
    return {path for path in claims.pool.glob("*/[!.]*") if path.suffix != ".json"}


@pytest.mark.counted
@pytest.mark.nightly("random, with a driver that is killed; told by tests/csi/test_model")
def test_the_cluster_is_what_the_model_says(claims: Claims) -> None:
    claims.deleting_classes(CLASS)
    others = in_pool(claims)
    model = Model(claims)
    for _ in range(2):  # to begin with, so that there is a wrong one to take
        model.create()
    for _ in range(OPERATIONS):
        model.step()
        model.check(others)
