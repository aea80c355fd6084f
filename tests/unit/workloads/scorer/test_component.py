"""Scorers: what can be declared, and pods that reach their server and their streams, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered
from tests.support.serving_schema import find_problems

_STRIMZI = {"kind": "strimzi", "cluster": "kafka"}
_IMAGE = "registry.example/scorer:1"


def tree(*, cluster: str = "existing", serving: dict[str, Any] | None = None, **scorer: Any) -> dict[str, Any]:
    """A stack with a server, a stream and a scorer with these settings."""
    kinds = {"existing": {"kind": "existing", "context": "team"}, "embedded": {"kind": "embedded"}}
    here = cluster == "embedded"
    return {
        "cluster": kinds[cluster],
        "namespace": "ranking",
        "volumes": {"models": {"sizeGib": 1}, "records": {"sizeGib": 1}},
        "streams": {
            "events": {
                **({"volume": "records"} if here else {"broker": _STRIMZI}),
                "topics": {"clicks": {}, "scores": {"compacted": True}},
                "groups": {"scorer": {"topics": ["clicks"]}},
                "producers": {"results": {"topics": ["scores"]}, "website": {"topics": ["clicks"]}},
            }
        },
        "workloads": {
            "ranker": {"kind": "modelServer", "model": {"volume": "models", "path": "team/clicks"}, **(serving or {})},
            "scorer": {
                "kind": "scorer",
                "server": "ranker",
                "input": {"stream": "events", "topic": "clicks", "group": "scorer"},
                "output": {"stream": "events", "topic": "scores", "producer": "results"},
                **({} if here else {"image": _IMAGE}),
                **scorer,
            },
        },
    }


def _container(tree: dict[str, Any]) -> dict[str, Any]:
    found = rendered_tree(tree).one("Deployment", "scorer").inputs
    (container,) = found["spec"]["template"]["spec"]["containers"]
    return dict(container)


def _variables(container: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in container["env"]}


def test_the_program_knows_its_server_and_both_ends() -> None:
    variables = _variables(_container(tree(batch=8)))
    assert variables["PREDICT_URL"] == "http://ranker.ranking.svc:8501/v1/models/clicks:predict"
    assert (variables["INPUT_TOPIC"], variables["OUTPUT_TOPIC"], variables["BATCH"]) == ("clicks", "scores", "8")
    streams = json.loads(variables["STREAMS"])
    assert (streams["input"]["group"], "group" in streams["output"]) == ("scorer", False)
    # Two users of one stream: each end has a certificate of its own.
    paths = {streams[end]["settings"]["ssl.key.location"] for end in ("input", "output")}
    assert len(paths) == 2


@pytest.mark.parametrize(
    ("serving", "server", "name"),
    [
        ({"model": None, "models": {"a": {"volume": "models", "path": "x/one"}}}, "ranker", "a"),
        (
            {
                "model": None,
                "models": {"a": {"volume": "models", "path": "x"}, "b": {"volume": "models", "path": "y"}},
            },
            "ranker/b",
            "b",
        ),
    ],
)
def test_one_of_several_models_is_asked_by_its_name(serving: dict[str, Any], server: str, name: str) -> None:
    found = tree(serving=serving)
    del found["workloads"]["ranker"]["model"]
    found["workloads"]["scorer"]["server"] = server
    url = _variables(_container(found))["PREDICT_URL"]
    assert url == f"http://ranker.ranking.svc:8501/v1/models/{name}:predict"


def test_pods_connect_to_the_server_and_to_brokers_only() -> None:
    rendered = rendered_tree(tree())
    policy = rendered.one("NetworkPolicy", "scorer-server").inputs["spec"]
    (rule,) = policy["egress"]
    assert rule["to"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "ranker"}}}]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8501}]
    labels = rendered.one("Deployment", "scorer").inputs["spec"]["template"]["metadata"]["labels"]
    assert labels["streams.tensorplane/events"] == "client"


def test_the_embedded_cluster_has_an_image_for_it() -> None:
    assert _container(tree(cluster="embedded"))["image"]


@pytest.mark.parametrize(
    ("scorer", "faults"),
    [
        ({}, []),
        (
            {"server": "rankr"},
            ["server: no model server is named 'rankr'; choose one of ranker (did you mean ranker?)"],
        ),
        ({"server": "scorer"}, ["server: no model server is named 'scorer'; choose one of ranker"]),
        (
            {"input": {"stream": "event", "topic": "clicks", "group": "scorer"}},
            ["input.stream: no stream is named 'event'; choose one of events (did you mean events?)"],
        ),
        (
            {"input": {"stream": "events", "topic": "click", "group": "scorers"}},
            [
                "input.group: no group is named 'scorers'; choose one of scorer (did you mean scorer?)",
                "input.topic: no topic is named 'click'; choose one of clicks, scores (did you mean clicks?)",
            ],
        ),
        (
            {"output": {"stream": "events", "topic": "scores", "producer": "result"}},
            ["output.producer: no producer is named 'result'; choose one of results, website (did you mean results?)"],
        ),
        (
            {"output": {"stream": "events", "topic": "scores", "producer": "website"}},
            [
                "output.topic: is scores, which producer website of stream events does not use; "
                "add it to streams.events.producers.website.topics"
            ],
        ),
        (
            {"output": {"stream": "events", "topic": "clicks", "producer": "website"}},
            ["output.topic: is clicks, which is also the input's: results would be scored again; use another topic"],
        ),
        ({"replicas": 4}, ["replicas: is 4, but topic clicks has 3 partitions, each read by one pod; set 3 or less"]),
        ({"resources": {"gpus": 1}}, ["resources.gpus: is 1, but a scorer does not use GPUs"]),
        ({"batch": 0}, ["batch: invalid value 0; use 1 or more"]),
    ],
)
def test_what_cannot_work_is_refused(scorer: dict[str, Any], faults: list[str]) -> None:
    found = [line.removeprefix("tensorplane:workloads.scorer.") for line in problems_of(tree(**scorer))]
    assert len(found) == len(faults), found
    assert all(line.startswith(start) for line, start in zip(found, faults, strict=True)), found


def test_elsewhere_than_on_the_embedded_cluster_it_names_its_image() -> None:
    found = tree()
    del found["workloads"]["scorer"]["image"]
    (line,) = problems_of(found)
    start = "tensorplane:workloads.scorer.image: missing, but the default TensorFlow image has no client of Kafka"
    assert line.startswith(start)


def test_a_server_with_clients_must_let_it_in() -> None:
    found = tree(serving={"clients": [{"namespace": "shop"}]})
    (line,) = problems_of(found)
    assert line == "tensorplane:workloads.ranker.clients: does not let in scorer scorer; add {workload: scorer}"
    found["workloads"]["ranker"]["clients"].append({"workload": "scorer"})
    assert problems_of(found) == []


def test_a_group_of_two_workloads_is_refused() -> None:
    found = tree()
    found["workloads"]["another"] = {**found["workloads"]["scorer"]}
    (line,) = problems_of(found)
    assert line.startswith("tensorplane:workloads.scorer.input.group: is scorer, which another uses too")
    job = {"kind": "trainingJob", "strategy": {"kind": "single"}, "command": ["python3"]}
    found["workloads"]["another"] = {**job, "streams": {"events": {"group": "scorer"}}}
    (line,) = problems_of(found)
    assert line.startswith("tensorplane:workloads.scorer.input.group: is scorer, which another uses too")


@pytest.mark.parametrize("stream", ["events", "others"])
def test_scorers_whose_results_have_the_same_keys_in_one_topic_are_refused(stream: str) -> None:
    found = tree()
    events = found["streams"]["events"]
    events["groups"]["second"] = {"topics": ["clicks"]}
    elsewhere = {"kind": "managed", "endpoint": {"bootstrap": "kafka.example:9096"}}
    found["streams"]["others"] = {**events, "broker": elsewhere}
    second = {**found["workloads"]["scorer"], "input": {"stream": stream, "topic": "clicks", "group": "second"}}
    found["workloads"]["second"] = second
    assert problems_of(found) == [
        "tensorplane:workloads.second.output.topic: is scores, to which scorer scorer writes with the same keys,"
        " clicks-PARTITION-OFFSET, so each would replace the other's results; use another topic"
    ]
    events["topics"]["other-scores"] = {}
    events["producers"]["results"]["topics"].append("other-scores")
    second["output"] = {**second["output"], "topic": "other-scores"}
    assert problems_of(found) == []


def test_scorers_that_score_each_others_results_are_refused_once() -> None:
    given = tree()
    given["streams"]["events"]["groups"]["back"] = {"topics": ["scores"]}
    given["workloads"]["back"] = {
        **given["workloads"]["scorer"],
        "input": {"stream": "events", "topic": "scores", "group": "back"},
        "output": {"stream": "events", "topic": "clicks", "producer": "website"},
    }
    assert problems_of(given) == [
        "tensorplane:workloads.scorer.output.topic: makes a circle of scorers that score each other's results for ever,"
        " scorer -> back -> scorer; use another topic"
    ]


def test_a_faulty_server_is_no_second_fault() -> None:
    (line,) = problems_of(tree(serving={"replicas": 0}))
    assert line.startswith("tensorplane:workloads.ranker.replicas")


def _scaled(found: dict[str, Any]) -> Rendered:
    rendered = rendered_tree(found)
    for kind in ("ScaledObject", "TriggerAuthentication"):
        made = [one for one in rendered.resources if one.type.endswith(f":{kind}")]
        assert [line for one in made for line in find_problems(one.inputs)] == []
    return rendered


def test_lag_starts_further_pods() -> None:
    rendered = _scaled(tree(cluster="embedded", scaling={"max": 3, "lag": 1000}))
    made = rendered.one("ScaledObject", "scorer")
    (trigger,) = made.inputs["spec"]["triggers"]
    assert (made.inputs["spec"]["minReplicaCount"], made.inputs["spec"]["maxReplicaCount"]) == (1, 3)
    assert (trigger["type"], trigger["metricType"]) == ("kafka", "AverageValue")
    assert trigger["metadata"] == {
        "bootstrapServers": "events-kafka.ranking.svc:9092",
        "topic": "clicks",
        "consumerGroup": "scorer",
        "lagThreshold": "1000",
        "activationLagThreshold": "0",
        "offsetResetPolicy": "earliest",
        "version": "2.5.0",
    }
    assert "authenticationRef" not in trigger
    assert "Release keda" in made.options["dependsOn"]
    assert not [one for one in rendered.resources if one.name == "prometheus"]
    deployment = rendered.one("Deployment", "scorer")
    assert deployment.inputs["spec"]["replicas"] == 1
    assert "spec.replicas" in deployment.options["ignoreChanges"]


@pytest.mark.parametrize("settings", [{"scaling": {"max": 3, "lag": 1000}}, {"replicas": 2}])
def test_the_embedded_broker_lets_keda_in_where_the_stack_has_it(settings: dict[str, Any]) -> None:
    rendered = rendered_tree(tree(cluster="embedded", **settings))
    (rule,) = rendered.one("NetworkPolicy", "events-stream-brokers").inputs["spec"]["ingress"]
    assert ("keda" in str(rule["from"])) == ("scaling" in settings)


def test_no_records_need_no_pod() -> None:
    rendered = _scaled(tree(scaling={"min": 0, "max": 3, "lag": 1000}))
    assert rendered.one("ScaledObject", "scorer").inputs["spec"]["minReplicaCount"] == 0
    # So that an update does not stop a pod before KEDA has asked.
    assert rendered.one("Deployment", "scorer").inputs["spec"]["replicas"] == 1


def test_keda_asks_with_the_certificate_of_the_group() -> None:
    rendered = _scaled(tree(scaling={"max": 3, "lag": 1000}))
    (trigger,) = rendered.one("ScaledObject", "scorer").inputs["spec"]["triggers"]
    # It is in another namespace.
    assert trigger["metadata"]["bootstrapServers"] == "kafka-kafka-bootstrap.ranking.svc:9093"
    assert (trigger["metadata"]["tls"], "sasl" in trigger["metadata"]) == ("enable", False)
    assert trigger["authenticationRef"] == {"name": "scorer"}
    assert rendered.one("TriggerAuthentication", "scorer").inputs["spec"] == {
        "secretTargetRef": [
            {"parameter": "ca", "name": "kafka-cluster-ca-cert", "key": "ca.crt"},
            {"parameter": "cert", "name": "events-scorer", "key": "user.crt"},
            {"parameter": "key", "name": "events-scorer", "key": "user.key"},
        ]
    }


@pytest.mark.parametrize(("authentication", "mechanism"), [("scram-sha-512", "scram_sha512"), ("plain", "plaintext")])
def test_keda_asks_with_the_password_of_the_stack(authentication: str, mechanism: str) -> None:
    found = tree(scaling={"max": 3, "lag": 1000})
    access = {"authentication": authentication, "username": "ranking", "secret": "kafka-login"}
    bootstrap = "b-1.example.org:9096,b-2.example.org:9096"
    found["streams"]["events"]["broker"] = {"kind": "managed", "endpoint": {"bootstrap": bootstrap, **access}}
    rendered = _scaled(found)
    (trigger,) = rendered.one("ScaledObject", "scorer").inputs["spec"]["triggers"]
    assert trigger["metadata"]["bootstrapServers"] == bootstrap
    assert (trigger["metadata"]["tls"], trigger["metadata"]["sasl"]) == ("enable", mechanism)
    spec = rendered.one("TriggerAuthentication", "scorer").inputs["spec"]
    assert spec["secretTargetRef"] == [{"parameter": "password", "name": "kafka-login", "key": "password"}]
    (named,) = spec["configMapTargetRef"]
    maps = {one.inputs["metadata"]["name"]: one.inputs for one in rendered.resources if one.type.endswith(":ConfigMap")}
    assert (named["parameter"], maps[named["name"]]["data"][named["key"]]) == ("username", "ranking")


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"max": 4}, "scaling.max: is 4, but topic clicks has 3 partitions"),
        ({"min": 3, "max": 2}, "scaling.min: is 3, more than max, which is 2; set 2 or less"),
    ],
)
def test_scaling_that_cannot_work_is_refused(settings: dict[str, int], fault: str) -> None:
    (line,) = problems_of(tree(scaling={"lag": 10, **settings}))
    assert line.startswith(f"tensorplane:workloads.scorer.{fault}")


def test_replicas_beside_scaling_are_refused() -> None:
    found = tree(replicas=2, scaling={"max": 3, "lag": 10})
    assert problems_of(found) == ["tensorplane:workloads.scorer.replicas: conflicts with scaling; remove one of them"]


def test_the_prometheus_operator_gets_a_monitor_of_the_pods() -> None:
    found = tree()
    found["controllers"] = {"servingMetrics": "serviceMonitor"}
    rendered = rendered_tree(found)
    spec = rendered.one("PodMonitor", "scorer").inputs["spec"]
    assert spec["podMetricsEndpoints"] == [{"port": "metrics", "path": "/metrics"}]
    assert spec["selector"] == {"matchLabels": {"app.kubernetes.io/name": "scorer"}}
    template = rendered.one("Deployment", "scorer").inputs["spec"]["template"]
    assert "annotations" not in template["metadata"]
