"""A pipeline as Argo's templates: which pods a stage has, what they mount, and what decides a run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tensorplane import declared_lineage
from tensorplane.components.base.labels import FENCED, PIPELINE, QUEUE_LABEL, SOURCES, STAGE
from tensorplane.stages.description import Stage
from tensorplane.workloads.pipeline import manifest as pipeline_manifest
from tensorplane.workloads.pipeline.manifest import PipelineContext
from tensorplane.workloads.pipeline.settings import PipelineSettings
from tensorplane.workloads.pipeline.stage_pods import Server, StageContext, Stored
from tensorplane.workloads.pods.files import bundle
from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.training_job.context import JobContext, Placement
from tensorplane.workloads.training_job.settings import JobSettings

_SETTINGS: dict[str, Any] = {
    "prepare": {
        "command": ["prepare"],
        "inputs": {"photos": {"dataset": "raw", "split": "file"}, "labels": {"dataset": "raw", "branch": "a.b_c"}},
        "output": "prepared",
        "params": {"SIZE": 28},
        "parallel": 7,
        "timeoutSeconds": 60,
        "retries": 5,
    },
    "train": {"command": ["train"], "inputs": {"photos": "prepared"}, "output": "model", "accelerator": "t4"},
}
_VOLUME = Mountable("data", one_node=True)


def _context(**changes: Any) -> PipelineContext:
    stored = {name: Stored(_VOLUME, f"datasets/{name}", {}) for name in ("raw", "prepared", "model")}
    stages = {
        "prepare": StageContext("team/prepare:1", queue_labels={QUEUE_LABEL: "research"}, files={"a.py": b"1"}),
        "train": StageContext("team/train:1", placement={"nodeSelector": {"gpu": "t4"}}),
    }
    known = PipelineContext("photos", "vision", stages, stored, "python:3", bundle("photos-runtime", {}), {})
    return replace(known, **changes)


def _made(settings: dict[str, Any] = _SETTINGS, facts: PipelineContext | None = None) -> dict[str, Any]:
    return pipeline_manifest.template(PipelineSettings.model_validate({"stages": settings}), facts or _context())


def _templates(**changes: Any) -> dict[str, Any]:
    return {each["name"]: each for each in _made(**changes)["spec"]["templates"]}


def _mounts(container: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {mount["mountPath"]: mount for mount in container["volumeMounts"]}


def test_a_stage_runs_after_those_whose_output_it_reads() -> None:
    tasks = {task["name"]: task for task in _templates()["pipeline"]["dag"]["tasks"]}
    values = {one["name"]: one["value"] for one in tasks["prepare-plan"]["arguments"]["parameters"]}
    assert values == {"labels": "{{workflow.parameters.raw_a_db__c}}", "photos": "{{workflow.parameters.raw}}"}
    assert "depends" not in tasks["prepare-plan"]
    assert tasks["train-plan"]["depends"] == "prepare-commit.Succeeded"
    (photos,) = tasks["train-plan"]["arguments"]["parameters"]
    assert photos["value"] == "{{tasks.prepare-commit.outputs.parameters.version}}"


def test_a_commit_waits_for_the_agent_and_cleaning_for_the_pods() -> None:
    tasks = {task["name"]: task for task in _templates()["pipeline"]["dag"]["tasks"]}
    assert tasks["prepare"]["depends"] == tasks["prepare-commit"]["depends"] == "prepare-plan.Succeeded"
    every = " || ".join(f"prepare.{how}" for how in ("Succeeded", "Skipped", "Failed", "Errored"))
    assert tasks["prepare-clean"]["depends"] == f"prepare-commit.Succeeded && ({every})"
    assert not any("-clean" in task.get("depends", "") for task in tasks.values())


def test_a_claim_that_is_written_has_no_read_only_volume_in_the_pod() -> None:
    """The kubelet mounts a claim once for each pod, so that one such volume may make all of them read-only."""
    work = _templates()["prepare-work"]
    claims = [one["persistentVolumeClaim"] for one in work["volumes"] if "persistentVolumeClaim" in one]
    assert claims == [{"claimName": "data"}] * len(claims)
    assert len(claims) > 1
    program, keep = work["containerSet"]["containers"]
    assert _mounts(program)["/in/photos"]["readOnly"]
    assert not _mounts(keep)["/volumes/data"].get("readOnly")


def test_a_run_has_a_parameter_for_each_branch_that_it_begins_with() -> None:
    made = _made()
    assert [one["name"] for one in made["spec"]["arguments"]["parameters"]] == ["raw", "raw_a_db__c"]
    assert json.loads(made["metadata"]["annotations"][SOURCES]) == {
        "raw": {"dataset": "raw", "branch": "main"},
        "raw_a_db__c": {"dataset": "raw", "branch": "a.b_c"},
    }


def test_a_program_sees_its_inputs_and_nothing_else_of_the_volumes() -> None:
    work = _templates()["prepare-work"]
    program, keeper = work["containerSet"]["containers"]
    assert (program["name"], program["image"], program["command"]) == ("main", "team/prepare:1", ["prepare"])
    assert {"name": "SIZE", "value": "28"} in program["env"]
    mounts = _mounts(program)
    assert set(mounts) == {"/tmp", "/in/labels", "/in/photos", "/opt/tensorplane/app", "/out"}
    for name in ("labels", "photos"):
        assert mounts[f"/in/{name}"]["subPath"] == f"{{{{inputs.parameters.in-{name}}}}}"
        assert mounts[f"/in/{name}"]["readOnly"]
    assert keeper["command"][-1] == program["name"], "it waits for its end"
    assert set(_mounts(keeper)) == {"/tmp", "/out", "/opt/tensorplane/lib", "/volumes/data"}
    assert _mounts(keeper)["/out"]["name"] == mounts["/out"]["name"]
    names = [volume["name"] for volume in work["volumes"]]
    assert len(names) == len(set(names))
    assert {mount["name"] for each in (program, keeper) for mount in each["volumeMounts"]} == set(names)


def test_a_program_has_its_folders_where_its_image_expects_them() -> None:
    stage = {**_SETTINGS["train"], "inputs": {"photos": {"dataset": "raw", "path": "/pfs/photos"}}}
    program, keeper = _templates(settings={"train": {**stage, "outputPath": "/pfs/out"}})["train-work"]["containerSet"][
        "containers"
    ]
    mounts = _mounts(program)
    assert set(mounts) == {"/tmp", "/pfs/photos", "/pfs/out"}
    assert mounts["/pfs/photos"]["subPath"] == "{{inputs.parameters.in-photos}}"
    assert _mounts(keeper)["/pfs/out"]["name"] == mounts["/pfs/out"]["name"]
    assert keeper["command"][-2] == "/pfs/out"


def test_params_name_each_other_and_the_model_that_a_program_asks() -> None:
    params = {"DATA": "$(ROOT)/x", "ROOT": "/in", "ASKED": "$(MODEL_URL):predict"}
    server = Server("digits", "digits", "http://digits:8501/v1/models/digits")
    stages = {**_context().stages, "train": StageContext("team/train:1", server=server)}
    settings = {"train": {**_SETTINGS["train"], "params": params, "server": "digits"}}
    program, _ = _templates(settings=settings, facts=_context(stages=stages))["train-work"]["containerSet"][
        "containers"
    ]
    names = [one["name"] for one in program["env"]]
    assert names.index("ROOT") < names.index("DATA")
    assert names.index("MODEL_URL") < names.index("ASKED")


@pytest.mark.parametrize("name", ["Out", "out_put", "out put", "out.d", "résumé", "-", "o" * 57, "o" * 255])
def test_a_folder_of_any_name_has_a_volume_that_kubernetes_accepts(name: str) -> None:
    settings = {"train": {**_SETTINGS["train"], "outputPath": f"/results/{name}"}}
    work = _templates(settings=settings)["train-work"]
    mounted = {_mounts(one)[f"/results/{name}"]["name"] for one in work["containerSet"]["containers"]}
    assert len(mounted) == 1
    assert mounted < {volume["name"] for volume in work["volumes"]}
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,61}[a-z0-9]", *mounted)


def test_volumes_of_one_claim_are_all_writable_where_one_is() -> None:
    """The kubelet mounts the claim once, as any of them says."""
    claims = [one for one in _templates()["prepare-work"]["volumes"] if "persistentVolumeClaim" in one]
    assert len(claims) == 3
    assert not any(one["persistentVolumeClaim"].get("readOnly") for one in claims)


def test_no_pod_has_a_token_and_all_meet_pod_security() -> None:
    made = _made()
    assert made["spec"]["automountServiceAccountToken"] is False
    assert made["spec"]["executor"] == {"serviceAccountName": "photos-executor"}
    for name in ("prepare-work", "train-work"):
        template = _templates()[name]
        assert template["securityContext"]["runAsNonRoot"], name
        for one in template["containerSet"]["containers"]:
            assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}, name


def test_only_parts_have_pods_and_the_run_waits_for_the_agent_s_steps() -> None:
    templates = _templates()
    kinds = {"dag": {"pipeline", "prepare", "train"}, "containerSet": {"prepare-work", "train-work"}}
    kinds["suspend"] = {f"{stage}-{step}" for stage in ("prepare", "train") for step in ("plan", "commit", "clean")}
    assert {kind: {name for name, one in templates.items() if kind in one} for kind in kinds} == kinds
    plan = templates["prepare-plan"]
    assert [one["name"] for one in plan["inputs"]["parameters"]] == ["labels", "photos"]
    assert plan["outputs"]["parameters"] == [
        {"name": name, "valueFrom": {"supplied": {}}} for name in ("items", "summary")
    ]


def test_kueue_admits_the_programs_pods_alone() -> None:
    labels = {name: template.get("metadata", {}).get("labels", {}) for name, template in _templates().items()}
    assert [name for name in labels if labels[name].get(QUEUE_LABEL) == "research"] == ["prepare-work"]


def test_limits_of_a_stage_are_argos() -> None:
    templates = _templates()
    assert templates["prepare"]["parallelism"] == 7
    assert templates["prepare-work"]["activeDeadlineSeconds"] == 60
    assert templates["prepare-work"]["retryStrategy"] == {
        "limit": 5,
        "retryPolicy": "Always",
        "expression": ("!(lastRetry.exitCode == '0' && lastRetry.message startsWith 'keep: Error (exit code 65)')"),
    }


def test_one_parameter_moves_a_stage_to_a_gpu() -> None:
    train = _templates()["train-work"]
    program = train["containerSet"]["containers"][0]
    assert program["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert train["nodeSelector"] == {"gpu": "t4"}


def test_pods_that_share_a_volume_of_one_node_meet_there() -> None:
    for name in ("prepare-work", "train-work"):
        template = _templates()[name]
        together = template["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert len(together) == 1, name
        assert together[0]["labelSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items(), name


def _decisive(settings: dict[str, Any] = _SETTINGS, facts: PipelineContext | None = None) -> str:
    found: str = _made(settings, facts)["metadata"]["annotations"][PIPELINE]
    return found


@pytest.mark.parametrize(
    ("key", "value", "same"),
    [
        ("params", {"SIZE": 32}, False),
        ("outputPath", "/pfs/out", False),
        ("command", ["other"], False),
        ("reprocess", "new", False),
        ("parallel", 2, True),
        ("retries", 0, True),
        ("resources", {"cpus": 3}, True),
    ],
)
def test_what_does_not_decide_results_makes_no_other_run(key: str, value: Any, same: bool) -> None:
    changed = {**_SETTINGS, "prepare": {**_SETTINGS["prepare"], key: value}}
    assert (_decisive(changed) == _decisive()) == same


def test_code_and_images_decide_and_the_library_does_not() -> None:
    stages = _context().stages
    others: list[dict[str, Any]] = [{"files": {"a.py": b"2"}}, {"image": "team/prepare:2"}]
    changed = [_context(stages={**stages, "prepare": replace(stages["prepare"], **one)}) for one in others]
    assert len({_decisive(), *(_decisive(facts=one) for one in changed)}) == 3
    assert _decisive(facts=_context(library=bundle("photos-runtime", {"x.py": b"new"}))) == _decisive()


def _with_job(**more: Any) -> dict[str, Any]:
    strategy = {"kind": "multiWorkerMirrored", "workers": 2}
    settings = JobSettings.model_validate({"command": ["train"], "strategy": strategy, "queue": "research", **more})
    job = JobContext(
        "photos-train",
        "vision",
        placement={"worker": Placement()},
        volumes={"data": _VOLUME},
        queue_labels={QUEUE_LABEL: "research"},
        account="photos",
    )
    stage = {"job": settings.model_dump(exclude_unset=True), "inputs": {"photos": "prepared"}, "output": "model"}
    facts = _context(stages={**_context().stages, "train": StageContext("team/train:1", job=job)})
    return _templates(settings={**_SETTINGS, "train": stage}, facts=facts)


@pytest.mark.parametrize(
    ("more", "resumes"),
    [({}, False), ({"volumes": {"data": "/data"}, "checkpoints": {"volume": "data"}}, True)],
)
def test_the_plan_sees_whether_a_job_resumes(more: dict[str, Any], resumes: bool) -> None:
    described = _with_job(**more)["train"]["metadata"]["annotations"][STAGE]
    assert Stage.parse(described).resumes == resumes


def test_a_stage_can_be_a_job_with_the_stages_folders() -> None:
    templates = _with_job()
    tasks = {task["name"]: task for task in templates["train-work"]["dag"]["tasks"]}
    assert tasks["keep"]["depends"] == "job.Succeeded"
    made = json.loads(templates["train-job"]["resource"]["manifest"])
    assert made["kind"] == "JobSet"
    assert made["metadata"]["name"] == "photos-train-{{inputs.parameters.id}}"
    assert made["metadata"]["labels"][QUEUE_LABEL] == "research"
    (workers,) = made["spec"]["replicatedJobs"]
    pod = workers["template"]["spec"]["template"]
    mounts = _mounts(pod["spec"]["containers"][0])
    folders = {path: (mounts[path]["subPath"], mounts[path]["readOnly"]) for path in ("/in/photos", "/out")}
    assert folders == {
        "/in/photos": ("{{inputs.parameters.in-photos}}", True),
        "/out": ("{{inputs.parameters.out}}", False),
    }
    about = {each["name"]: each.get("value", "") for each in pod["spec"]["containers"][0]["env"]}[
        declared_lineage.STAGE
    ]
    about = about.replace("{{inputs.parameters.in-photos}}", f"datasets/prepared/versions/{'a' * 64}")
    inputs = [{"dataset": "prepared", "version": "a" * 64}]
    assert declared_lineage.stage({declared_lineage.STAGE: about}) == {
        "pipeline": "photos",
        "stage": "train",
        "inputs": inputs,
    }
    assert pod["spec"]["serviceAccountName"] == "photos"
    assert len(pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]) == 1
    assert templates["train-keep"]["suspend"] == {}
    for name in ("train-work", "train-keep"):
        assert {one["name"] for one in templates[name]["inputs"]["parameters"]} == {"item", "id", "out", "in-photos"}


def test_a_pod_that_waits_for_a_job_is_repeated_unless_the_job_has_ended() -> None:
    wait = _with_job()["train-job"]
    assert wait["metadata"]["annotations"] == {FENCED: "true"}, "it writes nothing"
    assert wait["resource"]["flags"] == ["--server-side"], "Kueue has set fields of the JobSet"
    # 64: of Argo's executor, also when it is evicted.
    assert wait["retryStrategy"] == {
        "limit": 3,
        "retryPolicy": "Always",
        "expression": "lastRetry.exitCode != '64' || lastRetry.message contains 'context canceled'",
    }


@pytest.mark.parametrize("one_node", [True, False])
def test_pods_that_keep_results_may_be_ended_on_a_lost_node_where_others_can_mount_the_volume(one_node: bool) -> None:
    volume = Mountable("data", one_node=one_node)
    names = ("raw", "prepared", "model", "live", "answers")
    templates = _with_server(volume, datasets={name: Stored(volume, f"datasets/{name}", {}) for name in names})
    for name in ("prepare-work", "train-work", "infer-work", "serve-work"):
        assert (FENCED in (templates[name]["metadata"].get("annotations") or {})) is not one_node, name


_LIVE: dict[str, Any] = {
    "serve": {"publish": "classifier", "inputs": {"model": "model"}, "output": "live", "timeoutSeconds": 600},
    "infer": {"command": ["infer"], "inputs": {"live": "live"}, "server": "classifier", "output": "answers"},
}


def _with_server(
    volume: Mountable = _VOLUME, datasets: dict[str, Stored] | None = None, **server: Any
) -> dict[str, Any]:
    known = Server("classifier", "digits", "http://classifier:8501/v1/models/digits", volume, "served/digits", **server)
    stages = {
        **_context().stages,
        "serve": StageContext("", server=known),
        "infer": StageContext("team/infer:1", server=known),
    }
    names = ("raw", "prepared", "model", "live", "answers")
    stored = datasets or {name: Stored(_VOLUME, f"datasets/{name}", {}) for name in names}
    return _templates(settings={**_SETTINGS, **_LIVE}, facts=_context(stages=stages, datasets=stored))


def _spec(template: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(template["metadata"]["annotations"][STAGE])
    return found


def test_a_stage_that_publishes_has_one_pod_with_the_model_and_the_servers_folder() -> None:
    work = _with_server(gated=True)["serve-work"]
    command = work["container"]["command"]
    item = "{{inputs.parameters.item}}"
    assert command[2:] == ["tensorplane.stages", "publish", "{{workflow.name}}", item, "/in/model", "/out"]
    mounts = _mounts(work["container"])
    assert mounts["/in/model"]["readOnly"]
    assert "readOnly" not in mounts["/volumes/data"]
    variables = {one["name"]: one.get("value") for one in work["container"]["env"]}
    assert json.loads(variables["STAGE"])["publish"] == {
        "server": "classifier",
        "model": "digits",
        "folder": "/volumes/data/served/digits",
        "url": "http://classifier:8501/v1/models/digits",
        "gated": True,
    }
    assert work["activeDeadlineSeconds"] == 600
    assert work["retryStrategy"]["expression"] == "asInt(lastRetry.exitCode) != 65"


def test_models_on_another_volume_are_mounted_too() -> None:
    work = _with_server(Mountable("models"))["serve-work"]
    assert {"/volumes/data", "/volumes/models", "/in/model"} <= set(_mounts(work["container"]))


def test_what_the_server_has_decides_whether_a_model_is_published_again() -> None:
    templates = _with_server()
    assert [_spec(templates[stage])["cache"] for stage in ("serve", "prepare")] == [False, True]


def test_a_program_that_asks_a_server_has_its_address() -> None:
    program, _ = _with_server()["infer-work"]["containerSet"]["containers"]
    assert {"name": "MODEL_URL", "value": "http://classifier:8501/v1/models/digits"} in program["env"]


def test_code_too_large_for_one_config_map_is_unpacked() -> None:
    stages = _context().stages
    large = replace(stages["prepare"], files={f"{number}.bin": b"x" * 600_000 for number in range(3)})
    work = _templates(facts=_context(stages={**stages, "prepare": large}))["prepare-work"]
    (unpack,) = work["initContainers"]
    assert unpack["name"] == "unpack"


def test_a_key_that_is_stated_or_of_folders_makes_another_run_and_that_of_files_does_not() -> None:
    def keys(join: str | None, split: str, **more: Any) -> dict[str, Any]:
        inputs = {name: {"dataset": "raw", "split": split, **more} for name in ("photos", "labels")}
        stage = {**_SETTINGS["prepare"], "inputs": inputs, **({"join": join} if join else {})}
        made = _made({"prepare": stage, "train": _SETTINGS["train"]})
        (about,) = (each for each in made["spec"]["templates"] if each["name"] == "prepare")
        described = json.loads(about["metadata"]["annotations"][STAGE])
        return {one["name"]: one["key"] for one in described["inputs"] if "key" in one}

    assert keys("name", "file") == keys("cross", "directory") == {}
    assert keys("name", "directory") == {"photos": None, "labels": None}
    assert keys("name", "file", key="(*).tar.gz") == dict.fromkeys(("photos", "labels"), r"([^/]*)\.tar\.gz")
