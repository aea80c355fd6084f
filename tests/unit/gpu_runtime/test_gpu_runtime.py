"""The GPU runtime of each kind of cluster: at most one, told how every group shares, kept off no node by a taint."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.components import gpu_runtime
from tensorplane.components.base.labels import is_label_value
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.gpu_runtime import GpuRuntimeArgs
from tensorplane.components.gpu_runtime.operator import Operator
from tensorplane.components.gpu_runtime.plugin import Plugin
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.labels import plugin_config
from tensorplane.components.node_groups.settings import Effect, NodeGroupArgs
from tests.support.rendered_files import rendered_tree

SHARING: dict[str, dict[str, Any] | None] = {
    "whole": None,
    "time-slicing-4": {"kind": "timeSlicing", "replicas": 4},
    "mps-8": {"kind": "mps", "replicas": 8},
    "mig-1g.10gb": {"kind": "mig", "profile": "1g.10gb"},
}
H100 = {"accelerator": "h100-80gb", "perNode": 8, "max": 2}


def cluster(kind: str) -> ClusterArgs:
    """As much of a cluster's settings as a GPU runtime reads."""
    found = ClusterArgs.variants[kind]
    return cast(ClusterArgs, found.model_construct())


def groups(**settings: dict[str, Any]) -> Fleet:
    """The fleet of some node groups, wherever its machines come from."""
    parsed = {name: NodeGroupArgs.model_validate({"max": 2, **given}) for name, given in settings.items()}
    found, faults = fleet.of(
        {name.replace("_", "-"): args for name, args in parsed.items()}, ClusterProperties("existing", None, None)
    )
    assert not faults
    return found


def shared(*names: str) -> Fleet:
    """A fleet with a group of eight H100 for each way of sharing."""
    return groups(cpu={"min": 1}, **{name: {**H100, "sharing": SHARING[name]} for name in names})


def problems(runtime: GpuRuntimeArgs | None, kind: str, machines: Fleet) -> list[str]:
    """The lines about what is wrong."""
    return [str(f).removeprefix("tensorplane:") for f in gpu_runtime.check(runtime, cluster(kind), machines)]


@pytest.mark.parametrize(
    ("kind", "usual"),
    [("eks", "plugin"), ("gke", "present"), ("aks", "plugin"), ("existing", "present"), ("embedded", "plugin")],
)
def test_a_cluster_gets_a_plugin_only_where_groups_have_gpus_and_none_is_there(kind: str, usual: str) -> None:
    assert gpu_runtime.of(None, cluster(kind), shared("whole")).kind == usual
    without = groups(cpu={"min": 1}, chips={"accelerator": "tpu-v5e", "perNode": 4})
    assert gpu_runtime.of(None, cluster(kind), without).kind == "present"
    assert problems(None, kind, without) == []
    assert problems(None, kind, shared("whole")) == []


@pytest.mark.parametrize("kind", ["eks", "aks", "existing", "embedded"])
@pytest.mark.parametrize("names", [(), *((name,) for name in SHARING), tuple(SHARING)], ids=lambda n: "+".join(n))
def test_the_plugin_has_a_configuration_for_every_label(kind: str, names: tuple[str, ...]) -> None:
    machines = shared(*names)
    values = Plugin().values(cluster(kind), machines)
    labels = {s.labels["nvidia.com/device-plugin.config"] for s in machines.groups.values() if s.args.sharing}
    configs = values.get("config", {"map": {}})["map"]
    assert set(configs) == (labels | {"whole"} if labels else set())
    assert values.get("config", {"default": "whole"})["default"] == "whole"
    assert values["migStrategy"] == ("single" if "mig-1g.10gb" in names else "none")


def test_each_configuration_says_how_its_nodes_share() -> None:
    configs = Plugin().values(cluster("aks"), shared(*SHARING))["config"]["map"]
    gpus = {"name": "nvidia.com/gpu"}
    assert {name: json.loads(text) for name, text in configs.items()} == {
        "whole": {"version": "v1"},
        "time-slicing-4": {
            "version": "v1",
            "sharing": {"timeSlicing": {"failRequestsGreaterThanOne": True, "resources": [{**gpus, "replicas": 4}]}},
        },
        "mps-8": {"version": "v1", "sharing": {"mps": {"resources": [{**gpus, "replicas": 8}]}}},
        "mig-1g.10gb": {"version": "v1", "flags": {"migStrategy": "single"}},
    }


def test_groups_that_share_alike_have_one_configuration() -> None:
    half = {"kind": "timeSlicing", "replicas": 2}
    machines = groups(one={**H100, "sharing": half}, two={"accelerator": "t4", "sharing": half})
    assert set(Plugin().values(cluster("eks"), machines)["config"]["map"]) == {"whole", "time-slicing-2"}


keys = st.sampled_from(["team", "example.com/dedicated", "nvidia.com/gpu", "maintenance"])
taints = st.lists(
    st.fixed_dictionaries(
        {
            "key": keys,
            "value": st.sampled_from(["", "a", "b"]),
            "effect": st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
        }
    ),
    max_size=4,
)
gpu_groups = st.lists(st.tuples(taints, st.booleans()), min_size=1, max_size=4)


def tolerated(tolerations: list[dict[str, str]], key: str, effect: Effect) -> bool:
    """Whether Kubernetes would let a pod with these tolerations in, whatever the taint's value."""
    return any(
        t["operator"] == "Exists" and t.get("key", key) == key and t.get("effect", effect) == effect
        for t in tolerations
    )


@given(gpu_groups)
def test_no_taint_of_a_gpu_group_keeps_anything_off_its_nodes(drawn: list[tuple[list[dict[str, str]], bool]]) -> None:
    parsed = {
        f"group-{i}": NodeGroupArgs.model_validate({**H100, "taints": found, "spot": spot})
        for i, (found, spot) in enumerate(drawn)
    }
    machines, _ = fleet.of(parsed, ClusterProperties("existing", None, None))
    assert len(machines.groups) == len(drawn)
    exporter = Plugin(metrics="exporter")
    operator = Operator().values(cluster("existing"), machines)
    plugin = exporter.values(cluster("existing"), machines)
    every = [
        plugin["tolerations"],
        plugin["nfd"]["worker"]["tolerations"],
        operator["daemonsets"]["tolerations"],
        operator["node-feature-discovery"]["worker"]["tolerations"],
    ]
    for shape in machines.groups.values():
        for taint in shape.taints:
            assert all(tolerated(found, taint.key, taint.effect) for found in every), taint


def test_the_usual_taint_of_gpu_nodes_is_tolerated_where_no_group_is_described() -> None:
    assert tolerated(Plugin().values(cluster("existing"), Fleet())["tolerations"], "nvidia.com/gpu", "NoSchedule")


def test_feature_discovery_needs_no_worker_where_groups_carry_the_labels() -> None:
    machines = shared("whole")
    assert Plugin().values(cluster("eks"), machines)["nfd"]["worker"]["enable"] is False
    assert Plugin().values(cluster("existing"), machines)["nfd"]["worker"]["enable"] is True
    assert Operator().values(cluster("eks"), machines)["node-feature-discovery"]["worker"]["enable"] is True


def test_nothing_looks_for_gpus_on_simulated_nodes() -> None:
    values = Plugin().values(cluster("embedded"), shared("whole"))
    assert values["gfd"] == {"enabled": False}
    assert "nfd" not in values
    assert problems(Plugin(feature_discovery=True, metrics="serviceMonitor"), "embedded", shared("whole")) == [
        "gpuRuntime.featureDiscovery: the GPUs of cluster kind embedded are simulated and have nothing to "
        "discover; remove featureDiscovery",
        "gpuRuntime.metrics: the GPUs of cluster kind embedded are simulated and have no metrics; set metrics: none",
    ]


@pytest.mark.parametrize(("kind", "installs"), [("existing", True), ("eks", False), ("aks", True)])
def test_the_operator_installs_a_driver_where_no_image_has_it(kind: str, installs: bool) -> None:
    values = Operator().values(cluster(kind), shared("time-slicing-4", "mig-1g.10gb"))
    assert values["driver"] == {"enabled": installs}
    assert values["toolkit"] == {"enabled": installs}
    assert values["mig"] == {"strategy": "single"}
    assert values["migManager"]["enabled"] is True
    # Virtual machines restart for another division.
    assert ("env" in values["migManager"]) is (kind != "existing")
    config = values["devicePlugin"]["config"]
    assert set(config["data"]) == {"whole", "time-slicing-4", "mig-1g.10gb"}
    assert (config["create"], config["default"]) == (True, "whole")


def test_a_host_with_a_driver_may_lack_the_toolkit() -> None:
    values = Operator(driver=False, toolkit=True).values(cluster("existing"), shared("whole"))
    assert (values["driver"]["enabled"], values["toolkit"]["enabled"]) == (False, True)
    assert values["devicePlugin"] == {}
    assert values["migManager"] == {"enabled": False}


OWN = {"kind": "existing", "context": "lab"}


def settings(**tree: Any) -> dict[str, Any]:
    """An existing cluster's settings with one GPU group."""
    return {"cluster": OWN, "nodeGroups": {"old": {"accelerator": "t4", "max": 2}}, **tree}


def test_a_cluster_of_yours_gets_only_what_it_asks_for() -> None:
    assert rendered_tree(settings()).all("Release") == []
    plugin = rendered_tree(settings(gpuRuntime={"kind": "plugin", "metrics": "none"}))
    assert [r.name for r in plugin.all("Release")] == ["nvidia-device-plugin"]
    operator = rendered_tree(settings(gpuRuntime={"kind": "operator"}))
    assert [r.name for r in operator.all("Release")] == ["gpu-operator"]
    assert operator.one("GpuRuntime").inputs["kind"] == "operator"


def test_charts_come_from_nvidias_repositories() -> None:
    plugin = rendered_tree(settings(gpuRuntime={"kind": "plugin", "metrics": "serviceMonitor"}))
    exporter, device_plugin = plugin.all("Release")
    assert exporter.inputs["values"]["serviceMonitor"] == {"enabled": True}
    assert "podAnnotations" not in exporter.inputs["values"]
    assert exporter.inputs["values"]["nodeSelector"] == {"nvidia.com/gpu.present": "true"}
    assert device_plugin.inputs["repositoryOpts"] == {"repo": "https://nvidia.github.io/k8s-device-plugin"}
    assert device_plugin.inputs["chart"] == "nvidia-device-plugin"
    assert device_plugin.inputs["version"] == "0.19.1"


def test_its_pods_may_reach_the_nodes_devices() -> None:
    rendered = rendered_tree(settings(gpuRuntime={"kind": "plugin"}))
    namespace = rendered.one("Namespace", "gpu-runtime")
    assert namespace.inputs["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    for controller in ("nvidia-device-plugin", "dcgm-exporter"):
        release = rendered.one("Release", controller)
        assert release.inputs["namespace"] == namespace.inputs["metadata"]["name"]
        assert "Namespace gpu-runtime" in rendered.one("Controller", controller).options["dependsOn"]
    assert rendered.one("Release", "dcgm-exporter").inputs["values"]["podAnnotations"]["prometheus.io/port"] == "9400"


def test_the_runtime_class_reaches_every_pod_that_opens_a_gpu() -> None:
    named = {"kind": "plugin", "runtimeClass": "nvidia"}
    for release in rendered_tree(settings(gpuRuntime=named)).all("Release"):
        assert release.inputs["values"]["runtimeClassName"] == "nvidia"
    operator = rendered_tree(settings(gpuRuntime={"kind": "operator", "runtimeClass": "nvidia"}))
    assert operator.one("Release").inputs["values"]["operator"] == {"runtimeClass": "nvidia"}


def test_only_pods_with_gpus_have_the_runtime_class() -> None:
    server: dict[str, Any] = {"kind": "modelServer", "model": {"volume": "models", "path": "digits"}}
    tree = settings(
        gpuRuntime={"kind": "present", "runtimeClass": "nvidia"},
        volumes={"models": {"sizeGib": 1, "retain": False}},
        workloads={"with-gpu": {**server, "resources": {"gpus": 1}}, "without": server},
    )
    pods = {d.name: d.inputs["spec"]["template"]["spec"] for d in rendered_tree(tree).all("Deployment")}
    assert pods["with-gpu"]["runtimeClassName"] == "nvidia"
    assert "runtimeClassName" not in pods["without"]


@pytest.mark.parametrize(
    ("sharing", "labels"),
    [
        (None, {}),
        ("time-slicing-4", {"nvidia.com/device-plugin.config": "time-slicing-4"}),
        ("mps-8", {"nvidia.com/device-plugin.config": "mps-8", "nvidia.com/mps.capable": "true"}),
        ("mig-1g.10gb", {"nvidia.com/device-plugin.config": "mig-1g.10gb", "nvidia.com/mig.config": "all-1g.10gb"}),
    ],
)
def test_nodes_say_how_they_share(sharing: str | None, labels: dict[str, str]) -> None:
    (shape,) = groups(one={**H100, "sharing": SHARING[sharing or "whole"]}).groups.values()
    found = {key: value for key, value in shape.labels.items() if key.startswith("nvidia.com/")}
    assert found == {"nvidia.com/gpu.present": "true", **labels}


def test_a_profile_with_media_engines_is_a_label_too() -> None:
    args = NodeGroupArgs.model_validate({**H100, "sharing": {"kind": "mig", "profile": "1g.10gb+me"}})
    assert plugin_config(args) == "mig-1g.10gb.me"
    assert is_label_value(plugin_config(args))


def test_on_simulated_nodes_the_plugin_comes_from_the_clusters_own_folder() -> None:
    tree = {"nodeGroups": {"old": {"accelerator": "t4", "max": 2}}}
    release = rendered_tree(tree).one("Release")
    assert release.inputs["chart"] == "/instance-home/charts/nvidia-device-plugin"
    assert "repositoryOpts" not in release.inputs
    without = {"nodeGroups": {"cpu": {"max": 2}}}
    assert rendered_tree(without).all("GpuRuntime") == []
    assert rendered_tree({**tree, "gpuRuntime": {"kind": "present"}}).all("Release") == []
