"""csi-sanity, the conformance suite of CSI, against the driver on btrfs."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tensorplane.core.step import Step
from tensorplane.toolchain import go_build, go_module
from tests.csi.driver import Driver

pytestmark = pytest.mark.nightly("csi-sanity is built for it alone, in minutes")

_NO_ATTACHING = "a folder of the one node: nothing is attached to nodes"
_NO_STAGING = "a bind mount per pod is all there is to do"
_NO_GROUPS = "btrfs takes snapshots one after the other, so a group's would not be of one moment"
SKIPPED = {
    "ControllerPublishVolume not supported": (7, _NO_ATTACHING),
    "Controller Publish, UnpublishVolume not supported": (2, _NO_ATTACHING),
    "ControllerUnpublishVolume not supported": (1, _NO_ATTACHING),
    "NodeStageVolume not supported": (3, _NO_STAGING),
    "NodeUnstageVolume not supported": (2, _NO_STAGING),
    "GroupControllerService not supported": (6, _NO_GROUPS),
    "pending": (1, "csi-sanity itself has it switched off: volumes made between two pages of a list"),
}
"""What csi-sanity says where it skips -> how many specs, and why the driver has not got it."""
SPECS = 92


@pytest.fixture(scope="module")
def csi_sanity() -> Path:
    """The program, built in a minute or two where it is missing."""
    module = go_module.csi_sanity()
    if not module.is_built:
        go_build.build(module, Step("csi-sanity"))
    return module.path("csi-sanity")


def test_every_spec_passes_or_is_skipped_for_a_reason(csi_sanity: Path, driver: Driver, tmp_path: Path) -> None:
    report, mutable = tmp_path / "report.xml", tmp_path / "mutable.yaml"
    mutable.write_text('mirrorSeconds: "0"\n')
    arguments = {
        "csi.endpoint": f"unix://{driver.socket}",
        "csi.mountdir": driver.folder / "target",
        "csi.stagingdir": driver.folder / "staging",
        "csi.testvolumemutableparameters": mutable,
        "ginkgo.junit-report": report,
    }
    done = subprocess.run(
        [csi_sanity, "--ginkgo.no-color", *(f"--{name}={value}" for name, value in arguments.items())],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    specs = [case for case in ElementTree.parse(report).iter("testcase") if case.get("name", "").startswith("[It]")]
    assert len(specs) == SPECS
    assert Counter(_reason(spec) for spec in specs if spec.get("status") != "passed") == {
        said: count for said, (count, _) in SKIPPED.items()
    }


def _reason(spec: ElementTree.Element) -> str:
    skipped = spec.find("skipped")
    message = skipped.get("message", "") if skipped is not None else ""
    return message.removeprefix("skipped - ") or spec.get("status", "")
