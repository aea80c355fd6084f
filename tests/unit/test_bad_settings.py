"""Bad settings are refused before anything is built: every fault at once, a line each that names its key."""

import copy
import itertools
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

import stack
from components.cluster.existing import Existing
from components.faults import Key
from components.settings import Settings
from components.volume.backends.nfs import Nfs
from tests.unit.rendering import PROJECT, settings_of

DEV = PROJECT / "Pulumi.dev.yaml"
MUTANTS: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "mutants.yaml").read_text())


def faults_of(tree: dict[str, Any], secret: frozenset[Key] = frozenset()) -> list[str]:
    """The lines that a user would read; none where the settings are accepted."""
    try:
        stack.StackConfig.load(Settings(tree, secret))
    except pulumi.RunError as error:
        return str(error).split("\n")
    return []


def dev() -> dict[str, Any]:
    """The dev stack's settings, to be spoiled."""
    return copy.deepcopy(settings_of(DEV).tree)


def keys_of(lines: Iterable[str]) -> list[str]:
    """The settings that lines are about."""
    return sorted(line.split(": ")[0].removeprefix("tensorplane:") for line in lines)


def spoil(tree: dict[str, Any], mutant: dict[str, Any]) -> None:
    """Change, remove or rename one setting."""
    (path,) = (mutant[change] for change in ("put", "drop", "rename") if change in mutant)
    *parents, last = path.split("/")
    for key in parents:
        tree = tree.setdefault(key, {})
    if "put" in mutant:
        tree[last] = mutant["value"]
    elif "drop" in mutant:
        del tree[last]
    else:
        tree[mutant["to"]] = tree.pop(last)


def put(tree: dict[str, Any], path: str, value: Any) -> None:
    """Change one setting."""
    spoil(tree, {"put": path, "value": value})


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: str(mutant["says"].split(" (")[0]))
def test_one_fault_is_one_line(mutant: dict[str, Any]) -> None:
    tree = dev()
    spoil(tree, mutant)
    assert faults_of(tree) == [f"tensorplane:{mutant['says']}"]


def test_the_unspoiled_settings_are_accepted() -> None:
    assert faults_of(dev()) == []


def test_accepts_what_the_context_variable_makes_of_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORPLANE_CONTEXT", "kind-dev")
    config = stack.StackConfig.load(Settings(dev()))
    assert config.cluster == Existing(kind="existing", context="kind-dev")
    assert config.volumes["models"].backend_on(config.cluster).kind == "storageClass"


def test_a_backend_must_exist_on_the_cluster() -> None:
    tree = dev()
    tree["cluster"] = {"kind": "existing", "context": "kind-dev"}
    tree["volumes"]["models"]["backend"] = {"kind": "embedded"}
    assert faults_of(tree) == [
        "tensorplane:volumes.models.backend: got embedded on cluster kind existing, it needs cluster kind embedded"
    ]


def test_two_volumes_in_one_place() -> None:
    tree = dev()
    tree["volumes"]["data"] = {"sizeGib": 1}
    tree["workloads"]["digits"]["volumes"]["data"] = "/models"
    reason = "/models is already where volume models is mounted, need another path"
    assert faults_of(tree) == [f"tensorplane:workloads.digits.volumes.data: {reason}"]


def test_no_volume_is_mounted_inside_another() -> None:
    tree = dev()
    tree["volumes"]["data"] = {"sizeGib": 1}
    tree["workloads"]["digits"]["volumes"]["data"] = "/models/data"
    reason = "/models/data is inside /models, where volume models is mounted; take a path outside it, such as /data"
    assert faults_of(tree) == [f"tensorplane:workloads.digits.volumes.data: {reason}"]
    tree["workloads"]["digits"]["volumes"]["data"] = "/models-data"
    assert faults_of(tree) == []


def test_nothing_can_be_written_to_a_read_only_mount() -> None:
    tree = dev()
    tree["workloads"]["digits"]["volumes"] = {"models": {"path": "/models", "readOnly": True}}
    reason = "volume models is mounted read-only here, so nothing can be written"
    assert faults_of(tree) == [
        f"tensorplane:workloads.digits.model.volume: {reason}",
        f"tensorplane:workloads.digits.checkpoints.volume: {reason}",
    ]


def test_what_cannot_rename_takes_neither_checkpoints_nor_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nfs, "capabilities", replace(Nfs.capabilities, rename=False))
    tree = dev()
    tree["cluster"] = {"kind": "existing", "context": "lab"}
    tree["volumes"]["models"]["backend"] = {"kind": "nfs", "server": "s", "folder": "/f"}
    reason = "volume models is on backend nfs, which cannot rename what is written: need one on "
    for key in ("model", "checkpoints"):
        (line,) = [line for line in faults_of(tree) if f"digits.{key}." in line]
        assert line.startswith(f"tensorplane:workloads.digits.{key}.volume: {reason}")
        have = line.rpartition("need one on ")[2].split(", ")
        assert "storageClass" in have
        assert not {"nfs", "efs"} & set(have)


_EKS = {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}}
_CPU = {"machine": "m7i.2xlarge", "min": 1, "max": 3}


@pytest.mark.parametrize(
    ("group", "line"),
    [
        ({"sharing": {"kind": "mps", "replicas": 100}}, "sharing.replicas: got 100, need at most 48"),
        ({"sharing": {"kind": "MPS", "replicas": 2}}, "sharing.kind: got 'MPS', need timeSlicing, mps or mig"),
        ({"sharing": {"kind": "mps", "profile": "1g.5gb", "replicas": 2}}, "sharing.profile: unknown setting, allowed"),
        ({"taints": [{"key": "x", "effect": "NO_EXECUTE"}]}, "taints.0.effect: got 'NO_EXECUTE', need NoSchedule, No"),
        ({"taints": [{"key": "x"}, {"kye": "x"}]}, "taints.1.kye: unknown setting, allowed here: effect, key, value"),
        ({"zones": [1]}, "zones.0: got 1, need text"),
        ({"zones": ["us-west-2z"]}, "zones: no zone 'us-west-2z' in us-west-2, it has us-west-2a, us-west-2b"),
        ({"sharing": {"kind": "mig", "profile": "1g.5gb"}}, "sharing: t4 has no MIG: a100-40gb, "),
    ],
)
def test_a_fault_of_a_group_is_one_line_with_its_whole_key(group: dict[str, Any], line: str) -> None:
    tree = {"cluster": _EKS, "nodeGroups": {"cpu": _CPU, "g": {"accelerator": "t4", "max": 1, **group}}}
    (found,) = faults_of(tree)
    assert found.startswith(f"tensorplane:nodeGroups.g.{line}"), found


@pytest.mark.parametrize(
    ("cluster", "key"), [({**_EKS, "kind": "ekz"}, "kind"), ({"kind": "eks"}, "region"), ({"region": "x"}, "kind")]
)
def test_nothing_is_concluded_from_a_cluster_that_cannot_be_told(cluster: dict[str, Any], key: str) -> None:
    gpus = {"accelerator": "t4", "max": 1, "provisioner": "automatic"}
    volumes = {"models": {"sizeGib": 1, "backend": {"kind": "storageClass"}}}
    (found,) = faults_of({"cluster": cluster, "nodeGroups": {"cpu": _CPU, "gpus": gpus}, "volumes": volumes})
    assert found.startswith(f"tensorplane:cluster.{key}: "), found


def test_a_group_that_is_refused_is_not_missing_elsewhere() -> None:
    wrong = {"cpu": {**_CPU, "min": "one"}}
    assert faults_of({"cluster": _EKS, "nodeGroups": wrong}) == [
        "tensorplane:nodeGroups.cpu.min: got 'one', need a whole number"
    ]


def test_a_workload_that_misspells_its_group_is_the_only_fault() -> None:
    group = {"accelerator": "t4", "max": 1, "taints": [{"key": "team"}]}
    tree = dev()
    tree["nodeGroups"] = {"vision": group}
    tree["workloads"]["digits"] |= {"queue": None, "resources": {"gpus": 1, "nodeGroup": "vison"}}
    assert [line.split(": ")[0] for line in faults_of(tree)] == ["tensorplane:workloads.digits.resources.nodeGroup"]


def test_a_place_must_be_mounted() -> None:
    tree = dev()
    del tree["workloads"]["digits"]["checkpoints"]
    tree["workloads"]["digits"]["volumes"] = {}
    assert faults_of(tree) == [
        "tensorplane:workloads.digits.model.volume: volume models is not mounted here, add it to `volumes`"
    ]


@pytest.mark.parametrize(("workers", "longest"), [(2, 37), (100, 36)])
def test_a_job_name_leaves_room_for_its_pods(workers: int, longest: int) -> None:
    tree = dev()
    job = tree["workloads"].pop("digits")
    job["strategy"]["workers"], job["queue"] = workers, None
    tree["workloads"] = {"n" * (longest + 1): job}
    reason = f"the name has {longest + 1} characters, at most {longest} leave room for those of its pods"
    assert faults_of(tree) == [f"tensorplane:workloads.{'n' * (longest + 1)}: {reason}"]
    tree["workloads"] = {"n" * longest: job}
    assert faults_of(tree) == []


def test_a_queue_name_leaves_room_for_the_namespace() -> None:
    tree = {"namespace": "n" * 40, "queues": {"q" * 30: {"cpus": 1, "memoryGib": 1}}}
    assert faults_of(tree) == [
        f"tensorplane:queues.{'q' * 30}: the name has 30 characters, at most 22 in namespace {'n' * 40}"
    ]


def test_a_key_of_two_lines_is_a_fault_of_one() -> None:
    tree = dev()
    tree["volumes"]["models"]["size\nGib"] = 1
    assert [line.split(": ")[:2] for line in faults_of(tree)] == [
        ["tensorplane:volumes.models.size\\nGib", "unknown setting, allowed here"]
    ]


def test_a_stack_whose_name_makes_no_namespace_must_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi, "get_stack", lambda: "team.Dev")
    need = "lower-case letters, digits and dashes, beginning with a letter, at most 63 characters"
    assert faults_of({}) == [
        f"tensorplane:namespace: missing, and the stack's name would make it tensorplane-team.Dev; need {need}"
    ]
    assert faults_of({"namespace": "team-dev"}) == []


@pytest.mark.parametrize(("cpus", "holds", "fits"), [(0.1, 0.3, True), (0.1, 0.29, False), (0.3334, 1.001, False)])
def test_a_queue_holds_what_kubernetes_will_count(cpus: float, holds: float, fits: bool) -> None:
    """3 x 0.1 is a little more than 0.3 to a computer; 0.3334 cores are 334 thousandths in each pod."""
    tree = dev()
    put(tree, "queues/training", {"cpus": holds, "memoryGib": 100})
    put(tree, "workloads/digits/strategy/workers", 3)
    put(tree, "workloads/digits/resources/cpus", cpus)
    assert (faults_of(tree) == []) is fits


class TestFiles:
    """Sources of `files` are looked up before anything is built."""

    def of(self, files: dict[str, str]) -> list[str]:
        tree = dev()
        tree["workloads"]["digits"]["files"] = files
        return [line.removeprefix("tensorplane:workloads.digits.") for line in faults_of(tree)]

    def test_missing(self) -> None:
        assert self.of({"train.py": "examples/digits/trian.py"}) == [
            "files.train.py: examples/digits/trian.py: no such file (did you mean train.py?)"
        ]

    def test_missing_package(self) -> None:
        assert self.of({"x.csv": "package:sklaern/x.csv"}) == [
            "files.x.csv: package:sklaern/x.csv: no Python package 'sklaern' is installed"
        ]

    def test_missing_inside_a_package(self) -> None:
        assert self.of({"x.csv": "package:sklearn/datasets/data/digit.csv.gz"}) == [
            "files.x.csv: package:sklearn/datasets/data/digit.csv.gz: no such file (did you mean digits.csv.gz?)"
        ]

    def test_outside_the_project(self) -> None:
        need = "need a file of the project (examples/digits/train.py) or of a Python package (package:NAME/data.csv)"
        assert self.of({"x": "/etc/passwd"}) == [f"files.x: got '/etc/passwd', {need}"]
        assert self.of({"x": "../x"}) == [f"files.x: got '../x', {need}"]

    def test_a_file_inside_a_file(self) -> None:
        train = "examples/digits/train.py"
        assert self.of({"a": train, "a/b": train}) == ["files.a/b: 'a' is a file here, so nothing can be inside it"]

    def test_too_much(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("workloads.files.PROJECT", tmp_path)
        (tmp_path / "fits").write_bytes(bytes(1024 * 1024))
        (tmp_path / "one").write_bytes(b"1")
        assert self.of({"fits": "fits"}) == []
        assert self.of({"fits": "fits", "one": "one"}) == [
            "files: 1048577 bytes in all, at most 1048576 fit (the largest: fits). "
            "Put data on a volume or into the image"
        ]


def test_every_fault_of_a_file_at_once() -> None:
    tree = dev()
    put(tree, "volumez", {})
    put(tree, "namespace", "Vision_Team")
    put(tree, "volumes/models/sizeGib", -1)
    put(tree, "queues/training/memory", 2)
    put(tree, "workloads/digits/maxRestarts", "many")
    put(tree, "workloads/digits/env/TF_CONFIG", "{}")
    put(tree, "workloads/digits/checkpoints/volume", "modles")
    put(tree, "workloads/digits-server/kind", "modelserver")
    assert keys_of(faults_of(tree)) == [
        "namespace",
        "queues.training.memory",
        "volumes.models.sizeGib",
        "volumez",
        "workloads.digits-server.kind",
        "workloads.digits.checkpoints.volume",
        "workloads.digits.env.TF_CONFIG",
        "workloads.digits.maxRestarts",
    ]


def test_any_two_faults_in_different_places_are_both_reported() -> None:
    # Not those that replace a whole section, and with it the other's place, nor those about the sum of a job.
    local = [m for m in MUTANTS if "/" in m.get("put", "") and "would never start" not in m["says"]]
    pairs = [
        (one, two)
        for one, two in itertools.combinations(local, 2)
        if one["put"].split("/")[:2] != two["put"].split("/")[:2]
    ]
    assert len(pairs) > 300
    for one, two in random.Random(3).sample(pairs, 150):
        tree = dev()
        spoil(tree, one)
        spoil(tree, two)
        assert keys_of(faults_of(tree)) == keys_of(f"tensorplane:{mutant['says']}" for mutant in (one, two))


class TestSecrets:
    """A value that is stored encrypted is in no error message."""

    def test_wrong_type(self) -> None:
        lines = faults_of({"namespace": "Hunter 2!"}, frozenset({("namespace",)}))
        assert lines == ["tensorplane:namespace: something in this secret value is not allowed; its text is not shown"]

    def test_anything_inside(self) -> None:
        secret = "correct-horse"
        tree = {"workloads": {secret: {"kind": secret, "queue": secret, "env": {secret: [secret]}}}}
        lines = faults_of(tree, frozenset({("workloads",)}))
        assert len(lines) == 1
        assert secret not in lines[0]

    @pytest.mark.parametrize("section", ["workloads", "queues"])
    def test_names_in_a_reference(self, section: str) -> None:
        tree = dev()
        tree["queues"] = {"hunter2": tree["queues"]["training"]}
        tree["workloads"]["digits"]["queue"] = "hunter3"
        lines = faults_of(tree, frozenset({(section,)}))
        assert lines == [f"tensorplane:{section}: something in this secret value is not allowed; its text is not shown"]

    def test_a_consequence_in_another_section(self) -> None:
        """A zone that is not in the region that is secret would tell the region."""
        tree = {
            "cluster": {**_EKS, "region": "us-west-2"},
            "nodeGroups": {"cpu": _CPU, "g": {"accelerator": "t4", "max": 1, "zones": ["us-west-2z"]}},
        }
        (line,) = faults_of(tree)
        assert "in us-west-2, it has" in line
        secret: Key
        for secret in (("cluster",), ("cluster", "region")):
            lines = faults_of(tree, frozenset({secret}))
            assert lines == [
                "tensorplane:nodeGroups.g.zones: it does not go with a value that is stored encrypted; "
                "its text is not shown"
            ]

    def test_what_is_in_clear_is_told(self) -> None:
        tree = dev()
        tree["workloads"]["digits"]["env"]["TOKEN"] = "hunter2"
        tree["workloads"]["digits"]["maxRestarts"] = "many"
        secret = frozenset({("workloads", "digits", "env", "TOKEN")})
        assert faults_of(tree, secret) == ["tensorplane:workloads.digits.maxRestarts: got 'many', need a whole number"]

    def test_the_key_itself_is_no_secret(self) -> None:
        (line,) = faults_of({"tokn": "hunter2"}, frozenset({("tokn",)}))
        assert line.startswith("tensorplane:tokn: unknown setting")
        assert "hunter2" not in line


class TestAsPulumiRunsIt:
    """The whole program: settings from the engine's configuration, a clean end, nothing registered."""

    def run(self, config: dict[str, str], secret: list[str]) -> str:
        pulumi.runtime.set_all_config(config, secret)
        try:
            with pytest.raises(pulumi.RunError) as caught:
                stack.StackConfig.load()
        finally:
            pulumi.runtime.set_all_config({}, [])
        return str(caught.value)

    def test_reads_all_keys_of_its_project_and_no_others(self) -> None:
        message = self.run({"tensorplane:volumez": "{}", "kubernetes:context": "x", "tensorplane:cluster": "kind"}, [])
        assert message.split("\n") == [
            "tensorplane:cluster: got 'kind', need a map of settings",
            "tensorplane:volumez: unknown setting, allowed here: cluster, cohorts, controllers, gpuRuntime, "
            "namespace, nodeGroups, queues, teams, topology, volumes, workloads (did you mean volumes?)",
        ]

    def test_a_prefix_that_nothing_reads_is_a_fault(self) -> None:
        message = self.run({"tensorplan:volumes": "{}", "tensorplane:volumes": '{"a": {"sizeGib": 1}}'}, [])
        assert message == (
            "tensorplan:volumes: nothing reads a setting with this prefix; correct it "
            "(did you mean tensorplane:volumes?)"
        )

    @pytest.mark.parametrize("config", [{}, {"aws:region": "x"}, {"tensorplane:volumes": "{}"}])
    def test_a_stack_that_declares_nothing_is_refused(self, config: dict[str, str]) -> None:
        """On a stack that has resources the update would delete them all."""
        assert "it declares nothing" in self.run(config, [])

    def test_what_is_nested_without_end_is_a_fault(self) -> None:
        for levels in (200, 900, 100_000):
            deep = '{"a":' * levels + "1" + "}" * levels
            assert self.run({"tensorplane:volumes": deep}, []).startswith("tensorplane:volumes: got")

    def test_only_what_the_file_has_not_in_clear_is_secret(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Pulumi tells the program that something in a section is secret, and not what."""
        monkeypatch.chdir(tmp_path)
        file = Path(f"Pulumi.{pulumi.get_stack()}.yaml")
        stored = {"tensorplane:workloads": '{"x": {"env": {"A": "a", "S": "hunter2"}, "command": ["b", "c"]}}'}
        pulumi.runtime.set_all_config(stored, ["tensorplane:workloads"])
        try:
            assert Settings.of_stack().secret == {("workloads",)}
            file.write_text("config: {workloads: {x: {env: {A: a, S: {secure: AAAA}}, command: [b, {secure: AAAA}]}}}")
            assert Settings.of_stack().secret == {("workloads", "x", "env", "S"), ("workloads", "x", "command", "1")}
            # A file of other settings does not make public what it has at the same place.
            file.write_text("config: {workloads: {x: {env: {A: z}, command: [b]}}}")
            assert Settings.of_stack().secret == {("workloads", "x", "env", key) for key in "AS"} | {
                ("workloads", "x", "command")
            }
        finally:
            pulumi.runtime.set_all_config({}, [])

    def test_broken_json_is_a_fault_too(self) -> None:
        assert self.run({"tensorplane:volumes": '{"a": '}, []).startswith("tensorplane:volumes: got")

    def test_hides_what_pulumi_says_is_secret(self) -> None:
        assert "hunter2" not in self.run({"tensorplane:namespace": "hunter2!"}, ["tensorplane:namespace"])


def test_a_set_number_may_arrive_as_text() -> None:
    """`pulumi config set --path` stores "5"."""
    tree = dev()
    tree["volumes"]["models"]["sizeGib"] = "5"
    assert stack.StackConfig.load(Settings(tree)).volumes["models"].size_gib == 5


def test_a_job_without_a_queue_is_not_put_into_one_by_its_name() -> None:
    tree = dev()
    tree["workloads"]["digits"]["queue"] = None
    assert faults_of(tree) == []
    tree["queues"] = {"default": tree["queues"]["training"]}
    assert faults_of(tree) == [
        "tensorplane:workloads.digits.queue: missing, and Kueue puts jobs without a queue into the queue named default,"
        " at priority 0; set queue, or give queue default another name"
    ]
    tree["workloads"]["digits"]["queue"] = "default"
    assert faults_of(tree) == []
    # Another Kueue than tensorplane's may take servers, too.
    tree |= {"cluster": {"kind": "existing", "context": "c"}, "controllers": {"kueue": "present", "jobset": "present"}}
    assert faults_of(tree) == [
        "tensorplane:queues.default: the cluster's Kueue may let the pods wait in it that serve digits-server;"
        " give it another name"
    ]


@pytest.mark.parametrize(
    ("path", "value", "need"),
    [
        ("workloads/digits/strategy/workers", True, "got true, need a whole number"),
        ("volumes/models/sizeGib", True, "got true, need a number"),
        ("queues/default/gpus", {"t4": True}, "got true, need a whole number"),
        ("volumes/models/retain", "no", "got 'no', need true or false"),
        ("volumes/models/retain", "True", "got 'True', need true or false"),
        ("volumes/models/retain", 0, "got 0, need true or false"),
        ("workloads/digits/env/A", True, "got true, need text (quote it if it looks like a number)"),
    ],
)
def test_numbers_booleans_and_words_are_not_each_other(path: str, value: Any, need: str) -> None:
    tree = dev()
    put(tree, path, value)
    key = path.replace("/", ".") + (".t4" if isinstance(value, dict) else "")
    assert f"tensorplane:{key}: {need}" in faults_of(tree)


def test_a_secret_boolean_arrives_as_text() -> None:
    tree = dev()
    tree["volumes"]["models"]["retain"] = "false"
    assert stack.StackConfig.load(Settings(tree)).volumes["models"].retain is False


@pytest.mark.parametrize(
    ("more", "jobs"),
    [
        ({"snapshots": {"schedule": "@daily"}}, "take snapshots of models"),
        (
            {"mirror": {"to": {"remote": {"address": "a.example.org", "keySecret": "key"}}, "every": "1h"}},
            "mirror models",
        ),
        ({"from": {"mirror": {}}}, "mirror models"),
        ({}, None),
    ],
)
def test_a_kueue_of_the_clusters_own_holds_back_no_jobs_of_volumes(more: dict[str, Any], jobs: str | None) -> None:
    tree = {
        "cluster": {"kind": "existing", "context": "c"},
        "volumes": {"models": {"sizeGib": 1, "backend": {"kind": "cephfs"}, **more}},
        "queues": {"default": {"cpus": 1, "memoryGib": 1}},
    }
    assert faults_of(tree) == []
    line = (
        f"tensorplane:queues.default: the cluster's Kueue may let the pods wait in it that {jobs}; give it another name"
    )
    assert faults_of({**tree, "controllers": {"kueue": "present"}}) == ([line] if jobs else [])
