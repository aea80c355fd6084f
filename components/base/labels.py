"""The labels of every object, and each key of a label, annotation or taint that more than one module uses.

Agents, the library in training processes, the embedded cluster and the policies run without `components`, so they
repeat the few keys that they share.
"""

import re

NAME = "app.kubernetes.io/name"
COMPONENT = "app.kubernetes.io/component"
PART_OF = "app.kubernetes.io/part-of"
MANAGED_BY = "app.kubernetes.io/managed-by"
TENSORPLANE = {PART_OF: "tensorplane", MANAGED_BY: "pulumi"}


def labels(name: str, component: str) -> dict[str, str]:
    """The labels of one object: its owner (`name`) and its role (`component`)."""
    return {NAME: name, COMPONENT: component, **TENSORPLANE}


def selector(name: str, component: str) -> dict[str, str]:
    """The labels that select the pods of one Deployment or StatefulSet, whose pods have them besides `labels`.

    Kubernetes never lets a selector change: another one replaces what is deployed. So these stay as they are, whatever
    label `labels` gets.
    """
    return {NAME: name, COMPONENT: component, PART_OF: "tensorplane", MANAGED_BY: "pulumi"}


DOMAIN = "tensorplane.dev"
STACK = f"{DOMAIN}/stack"
"""Label of the objects of a workload stack: the stack's name."""
NODE_GROUP = f"{DOMAIN}/node-group"
FLAVOR = f"{DOMAIN}/flavor"
ACCELERATOR = f"{DOMAIN}/accelerator"
NO_ACCELERATOR = "none"
"""Value of `ACCELERATOR` on nodes without one."""
PRODUCT = f"{DOMAIN}/product"
ACCELERATOR_ARCHITECTURE = f"{DOMAIN}/generation"
"""The accelerator's architecture, such as ampere, under a key that stacks already have."""
ACCELERATOR_YEAR = f"{DOMAIN}/tier"
"""The accelerator's year, under a key that stacks already have."""
NODE_PRICES = f"{DOMAIN}/node-prices"
"""Annotation of a ResourceFlavor: the prices of its nodes, as JSON."""
TRIAL = f"{DOMAIN}/trial"
"""Annotation of a sweep's results: the volumes, the model's folder and the queue of its trials, as JSON."""
PIPELINE = f"{DOMAIN}/pipeline"
"""Annotation of a WorkflowTemplate: a digest of what decides the results of its stages."""
STAGE = f"{DOMAIN}/stage"
"""Annotation of a stage's template in a WorkflowTemplate: what its steps have to know, as JSON."""
SOURCES = f"{DOMAIN}/sources"
"""Annotation of a WorkflowTemplate: the dataset and branch of each of its parameters, as JSON."""
TRACK = f"{DOMAIN}/track"
"""Label of the pods of a model server's canary, and of the stable ones where a Gateway's routes tell them apart."""
STABLE, CANARY = "stable", "canary"
BACKENDS = f"{DOMAIN}/backends"
"""Annotation of routes: the field manager that divides their requests between stable pods and the canary."""
ROLLOUT_MANAGER = "tensorplane-rollout"
"""Field manager of the controller of a model server's rollouts."""
ADMITTED = f"{DOMAIN}/admitted"
"""Readiness gate of a canary's pods."""
FENCED = f"{DOMAIN}/fenced"
"""Annotation of pods that may be ended by force on a lost node (`agents/lost_nodes` repeats it)."""
AGENT = f"{DOMAIN}/agent"
"""Label of an agent's Lease, and of the Deployment or CronJob that runs it: its program, a folder of `agents/`."""
SPOT = f"{DOMAIN}/spot"
"""Label and taint of spot nodes."""

HOSTNAME = "kubernetes.io/hostname"
ARCHITECTURE = "kubernetes.io/arch"
ZONE = "topology.kubernetes.io/zone"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""Label of every namespace: its name."""
POD_SECURITY_ENFORCE = "pod-security.kubernetes.io/enforce"
"""Label of a namespace: the Pod Security level of its pods."""
SKIP_AWAIT = "pulumi.com/skipAwait"
"""Annotation: Pulumi does not wait until the object is ready."""
WAIT_FOR = "pulumi.com/waitFor"
"""Annotation: what Pulumi waits for instead of the kind's readiness."""
PATCH_FORCE = "pulumi.com/patchForce"
"""Annotation: Pulumi takes fields over that others have changed."""

PROMETHEUS_SCRAPE = "prometheus.io/scrape"
PROMETHEUS_PORT = "prometheus.io/port"
PROMETHEUS_PATH = "prometheus.io/path"

GPU_PRESENT = "nvidia.com/gpu.present"
PLUGIN_CONFIG = "nvidia.com/device-plugin.config"
"""Label: the device plugin's configuration on this node, where its GPUs are shared."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
TOPOLOGY_PREFIX = "kueue.x-k8s.io/podset-"
"""Prefix of the annotations that request topology-aware scheduling."""
JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"

GKE_ZONE = "topology.gke.io/zone"
"""Zone of a node, as GKE's CSI drivers label it."""
EKS_ACCELERATOR = "k8s.amazonaws.com/accelerator"
"""Label by which the cluster autoscaler on AWS knows that a new node will have GPUs once its plugin runs."""
AUTOSCALER_TEMPLATE = "k8s.io/cluster-autoscaler/node-template"
"""Prefix of the tags that describe the nodes of an empty group to the cluster autoscaler on AWS."""

SIMULATED = "kwok.x-k8s.io/node"
"""Taint, label and annotation of nodes that KWOK simulates: the pods on them run nothing."""
SIMULATED_VALUE = "fake"


LABEL_KEY_RULE = (
    "letters, digits, dashes, dots and underscores between letters or digits, at most 63, perhaps after a domain and /"
)
LABEL_VALUE_RULE = "letters, digits, dashes, dots and underscores between letters or digits, at most 63"
_NAME_PATTERN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_DOMAIN_LIMIT = 253


_NO_PART = re.compile(r"[^A-Za-z0-9._-]+")
LABEL_VALUE_LIMIT = 63


def nearest_label(value: str) -> str:
    """The label name or value nearest to this text; empty if it has no letter or digit."""
    return _NO_PART.sub("-", value).strip("._-")[:LABEL_VALUE_LIMIT].rstrip("._-")


def is_label_key(key: str) -> bool:
    """Whether this is a valid key of a label or taint."""
    domain, slash, name = key.rpartition("/")
    fits = not slash or (len(domain) <= _DOMAIN_LIMIT and _DOMAIN.fullmatch(domain) is not None)
    return fits and _NAME_PATTERN.fullmatch(name) is not None


def is_label_value(value: str) -> bool:
    """Whether this is a valid value of a label or taint."""
    return value == "" or _NAME_PATTERN.fullmatch(value) is not None
