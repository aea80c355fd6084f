"""A run is the same run with more memory: it goes on from its checkpoint, and is not run again once it has finished."""

from __future__ import annotations

import re
from pathlib import Path

from driver import watch
from driver.watch import Outputs
from embedded.step import Step
from tests.e2e import long_run
from tests.e2e.conftest import Deployed
from tests.e2e.long_run import Run
from tests.support.waiting import eventually

# More than any machine trains while the job is resized; the next test's run takes this one's place.
ENDLESS = 1_000_000
SHORT = 400
MEMORY = "resources: {cpus: 0.4, memoryGib: 1.25}"


def test_a_half_trained_job_with_more_memory_continues_from_its_checkpoint(deployed: Deployed, tmp_path: Path) -> None:
    small = long_run.deployed(deployed.stack, tmp_path, steps=ENDLESS)
    before = Outputs.of(small.outputs())
    run = Run(deployed.kube, before)
    saved = int(run.said(r"saved=(\d+)").group(1))
    chief = run.newest(0)
    assert chief

    resize = {MEMORY: "resources: {cpus: 0.4, memoryGib: 1.375}"}
    told: list[str] = []
    larger = long_run.deployed(small, tmp_path, steps=ENDLESS, changes=resize, kube=deployed.kube, told=told)
    after = Outputs.of(larger.outputs())
    assert after.job_set == before.job_set, "the same run"
    promised = re.fullmatch(r"restarts digits from step (\d+) or later", "\n".join(told))
    assert promised, told
    first_line = rf" step=(\d+) steps={ENDLESS} "
    step = int(run.said(first_line, not_by=chief["metadata"]["name"]).group(1))
    assert saved <= int(promised[1]) <= step < ENDLESS
    grown = run.newest(0)
    assert grown
    assert grown["spec"]["containers"][0]["resources"]["requests"]["memory"] == "1408Mi"


def test_a_finished_run_whose_objects_were_cleaned_up_is_not_run_again(deployed: Deployed, tmp_path: Path) -> None:
    told: list[str] = []
    stack = long_run.deployed(deployed.stack, tmp_path, steps=SHORT, kube=deployed.kube, told=told)
    assert told == ["new run of digits: env STEPS changed"]
    outputs = Outputs.of(stack.outputs())
    watch.training(deployed.kube, outputs, Step("training"))
    run = Run(deployed.kube, outputs)
    last = run.newest(0)
    assert last

    path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{outputs.namespace}/jobsets/{outputs.job_set}"
    deployed.kube.delete(path)
    eventually(lambda: deployed.kube.get(path) is None)
    stack._update(["up", "--refresh"], Step("pulumi up"))
    run.said(rf"run {outputs.job_set} has finished; nothing to do", not_by=last["metadata"]["name"])
    watch.training(deployed.kube, outputs, Step("training"))
