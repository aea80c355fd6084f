"""What a user may write in a job's settings, in the job's manifests."""

from __future__ import annotations

import base64
import ipaddress
import tarfile
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tensorplane.unpack import unpack
from tensorplane.workloads.pods.mounts import Location, Mountable
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.settings import JobSettings
from tests.support.planned_jobs import (
    IMAGE,
    SETTINGS,
    container,
    job,
    job_context,
    planned,
    variables,
)


class TestScript:
    """A script is the short form of a command."""

    def test_it_is_the_same_run_as_its_command(self) -> None:
        known = job_context(files={"train.py": b"print(1)"})
        short = plan(
            JobSettings.model_validate({"script": "mine/train.py", "args": ["-v"], "strategy": SETTINGS["strategy"]}),
            known,
            image=IMAGE,
        )
        assert short == planned(known, command=["python3", "train.py", "-v"], files={"train.py": "mine/train.py"})
        assert container(short)["command"][-3:] == ["python3", "train.py", "-v"]


class TestLargeFiles:
    """Files that do not fit into one ConfigMap are parts of an archive, which an init container unpacks."""

    LARGE: ClassVar = {"train.py": b"print(1)", "inner/words.txt": bytes(range(256)) * 9000}

    def test_parts_become_the_files_again(self, tmp_path: Path) -> None:
        manifest = planned(job_context(files=self.LARGE))
        parts = [base64.b64decode(*each["binaryData"].values()) for each in manifest.config_maps]
        assert len(parts) == 3
        assert all(len(part) <= 1024 * 1024 for part in parts)
        (tmp_path / "parts").mkdir()
        for index, part in enumerate(parts):
            (tmp_path / "parts" / f"part-{index:03}").write_bytes(part)
        unpack(tmp_path / "parts", tmp_path / "app")
        assert (tmp_path / "app/train.py").read_bytes() == self.LARGE["train.py"]
        assert (tmp_path / "app/inner/words.txt").read_bytes() == self.LARGE["inner/words.txt"]
        (tmp_path / "parts/part-001").unlink()
        with pytest.raises(tarfile.TarError):
            unpack(tmp_path / "parts", tmp_path / "torn")

    def test_the_pod_unpacks_them_before_it_starts(self) -> None:
        manifest = planned(job_context(files=self.LARGE), resources={"cpus": 2, "memoryGib": 4, "gpus": 1})
        pod = job(manifest)["template"]["spec"]["template"]["spec"]
        (init,) = pod["initContainers"]
        assert init["command"][-2:] == ["/opt/tensorplane/app-parts", "/opt/tensorplane/app"]
        assert init["image"] == IMAGE
        assert init["resources"] == {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}}
        mounts = {each["name"]: each for each in pod["containers"][0]["volumeMounts"]}
        assert mounts["files-app"] == {"name": "files-app", "mountPath": "/opt/tensorplane/app", "readOnly": True}
        assert "parts-app" not in mounts
        volumes = {each["name"]: each for each in pod["volumes"]}
        assert volumes["files-app"] == {"name": "files-app", "emptyDir": {}}
        (sources,) = (each["projected"]["sources"] for each in volumes.values() if "projected" in each)
        assert [each["configMap"]["name"] for each in sources] == [
            each["metadata"]["name"] for each in manifest.config_maps
        ]
        assert container(manifest)["workingDir"] == "/opt/tensorplane/app"

    def test_their_content_decides_the_run_and_only_the_changed_part_is_new(self) -> None:
        one = planned(job_context(files=self.LARGE))
        other = planned(job_context(files={**self.LARGE, "train.py": b"print(2)"}))
        assert one.run.name != other.run.name
        names = [{each["metadata"]["name"] for each in manifest.config_maps} for manifest in (one, other)]
        assert len(names[0] & names[1]) == 2

    def test_many_small_files_are_an_archive_too(self) -> None:
        few, many = ({f"{index}.txt": b"" for index in range(count)} for count in (500, 501))
        assert "initContainers" not in str(planned(job_context(files=few)).job_set)
        assert "initContainers" in str(planned(job_context(files=many)).job_set)


class TestEgress:
    """Destinations outside the job are closed unless the settings open them."""

    def test_ranges_and_ports(self) -> None:
        destinations = ["203.0.113.0/24", {"cidr": "2001:db8::/32", "ports": [443, 5432]}]
        _, opened = planned(egress=destinations).network_policies
        assert opened["metadata"]["name"] == "trial-7-egress"
        assert opened["spec"]["policyTypes"] == ["Egress"]
        ports = [{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 5432}]
        assert opened["spec"]["egress"] == [
            {"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}]},
            {"to": [{"ipBlock": {"cidr": "2001:db8::/32"}}], "ports": ports},
        ]

    def test_the_internet_has_no_private_addresses_and_no_metadata_service(self) -> None:
        _, opened = planned(egress="internet").network_policies
        (rule,) = opened["spec"]["egress"]
        blocked = [ipaddress.ip_network(each) for each in rule["to"][0]["ipBlock"]["except"]]
        for address in ("169.254.169.254", "10.0.0.1", "172.20.0.1", "192.168.1.1", "100.100.100.200"):
            assert any(ipaddress.ip_address(address) in each for each in blocked)
        assert not any(ipaddress.ip_address("151.101.0.223") in each for each in blocked)

    def test_a_run_stays_itself(self) -> None:
        assert len(planned().network_policies) == 1
        assert planned(egress="internet").run == planned().run


class TestPackages:
    """Outside of the embedded cluster, pods install packages on the volume of their checkpoints, or of the model."""

    LOCKED: ClassVar[tuple[str, ...]] = ("pandas==2.2.3 --hash=sha256:aa", "pytz==2026.1 --hash=sha256:bb")

    def manifest(self, packages: tuple[str, ...] = LOCKED, **settings: Any) -> JobManifest:
        volumes = {"work": Mountable("work-claim", "/work"), "models": Mountable("models-claim", "/models")}
        more = {"volumes": {"work": None, "models": None}, "model": {"volume": "models", "path": "m"}, **settings}
        return planned(
            job_context(volumes=volumes, packages=packages, library={"tensorplane/packages.py": b""}), **more
        )

    def test_an_init_container_installs_them_where_python_finds_them(self) -> None:
        manifest = self.manifest(checkpoints={"volume": "work"}, env={"PIP_INDEX_URL": "https://pypi.example/simple"})
        (init,) = job(manifest)["template"]["spec"]["template"]["spec"]["initContainers"]
        *_, library, program, requirements, folder = init["command"]
        assert (library, program) == ("/opt/tensorplane/lib/tensorplane.zip", "packages")
        assert folder.startswith("/work/.tensorplane/packages/ml/")
        assert variables(manifest)["PYTHONPATH"] == f"/opt/tensorplane/lib/tensorplane.zip:{folder}"
        assert {"name": "PIP_INDEX_URL", "value": "https://pypi.example/simple"} in init["env"]
        paths = {mount["mountPath"] for mount in init["volumeMounts"]}
        assert {"/work", "/opt/tensorplane/lib", str(Path(requirements).parent)} <= paths
        (stated,) = (each["data"] for each in manifest.config_maps if "requirements" in str(each["data"]))
        assert list(stated.values()) == ["".join(f"{line}\n" for line in self.LOCKED)]

    def test_the_folder_is_named_by_packages_and_image(self) -> None:
        def folder(manifest: JobManifest) -> str:
            return variables(manifest)["PYTHONPATH"].partition(":")[2]

        first = self.manifest()
        assert folder(first).startswith("/models/.tensorplane/packages/ml/")
        assert folder(self.manifest(tuple(reversed(self.LOCKED)))) == folder(first)
        assert folder(self.manifest(self.LOCKED[:1])) != folder(first)

    def test_other_packages_are_another_run(self) -> None:
        without = self.manifest(())
        assert without.run.decisive is not None and "packages" not in without.run.decisive
        assert len({each.run.name for each in (without, self.manifest(), self.manifest(self.LOCKED[:1]))}) == 3
        assert variables(without)["PYTHONPATH"] == "/opt/tensorplane/lib/tensorplane.zip"


class TestOnSuccess:
    """What follows the success is in the command of the first role, and decides nothing."""

    COMMAND: ClassVar[list[str]] = ["python3", "evaluate.py", "$(MODEL_DIR)"]

    def test_only_the_first_role_does_it(self) -> None:
        known = job_context(
            "chief", "worker", "ps", "evaluator", volumes={"models": Mountable("models-claim", "/models")}
        )
        strategy = {"kind": "parameterServer", "evaluator": {}}
        more = {"volumes": {"models": None}, "checkpoints": {"volume": "models"}, "strategy": strategy}
        manifest = planned(known, onSuccess={"command": self.COMMAND}, **more)
        launched = container(manifest, "chief")["command"]
        assert launched[4:] == ["--on-success", "3", *self.COMMAND, "python3", "train.py"]
        for role in ("worker", "ps", "evaluator"):
            assert "--on-success" not in container(manifest, role)["command"]
        assert manifest.run.name == planned(known, **more).run.name

    def test_the_folder_of_the_server_is_where_the_job_mounts_its_volume(self) -> None:
        served = Location(volume="served", path="digits")
        known = job_context(volumes={"served": Mountable("served-claim", "/elsewhere")}, publish_to=served)
        manifest = planned(known, volumes={"served": "/served"}, onSuccess={"publish": "digits-server"})
        assert container(manifest)["command"][4:] == ["--publish-to", "/served/digits", "python3", "train.py"]


class TestDeadline:
    """A deadline ends the job instead of restarting it."""

    def test_it_is_the_first_rule_and_on_every_job(self) -> None:
        manifest = planned(deadlineSeconds=3600)
        assert job(manifest)["template"]["spec"]["activeDeadlineSeconds"] == 3600
        first = manifest.job_set["spec"]["failurePolicy"]["rules"][0]
        assert (first["action"], first["onJobFailureReasons"]) == ("FailJobSet", ["DeadlineExceeded"])
        assert manifest.run.name == planned().run.name

    def test_without_one_nothing_changes(self) -> None:
        assert "DeadlineExceeded" not in str(planned().job_set)
        assert "activeDeadlineSeconds" not in str(planned().job_set)


def test_pods_that_train_have_the_deadline_of_their_progress_and_it_makes_no_new_run() -> None:
    known = job_context("chief", "worker", "ps")
    strategy = {"kind": "parameterServer", "workers": 2}
    manifest = planned(known, strategy=strategy, progressDeadlineSeconds=300)
    assert {name: variables(manifest, name).get("TENSORPLANE_PROGRESS_DEADLINE") for name in known.placement} == {
        "chief": "300",
        "worker": None,
        "ps": None,
    }
    without = planned(known, strategy=strategy)
    assert manifest.run.name == without.run.name
    assert "PROGRESS" not in str(without.job_set)


def test_event_files_of_a_run_have_a_folder_of_their_own() -> None:
    known = job_context(volumes={"models": Mountable("models-claim", "/models")})
    manifest = planned(known, volumes={"models": None}, tensorboard={"volume": "models"})
    assert variables(manifest)["TENSORBOARD_DIR"] == f"/models/tensorboard/{manifest.run.name}"
    assert manifest.run.name == planned(known, volumes={"models": None}).run.name


def test_shared_memory_has_the_size_that_the_settings_state() -> None:
    manifest = planned(resources={"memoryGib": 4, "sharedMemoryGib": 0.5})
    volumes = job(manifest)["template"]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "512Mi"}} in volumes
    assert {"name": "shm", "mountPath": "/dev/shm"} in container(manifest)["volumeMounts"]
    assert "shm" not in str(planned().job_set)
