"""The one list of what is pinned: images by kind of cluster, charts, API versions."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Images:
    """The images that workloads run when their settings name none."""

    train: str
    train_gpu: str | None
    """None if no public image is known to work: a job with GPUs must then name its own."""
    serve: str
    serve_gpu: str
    python: str
    """Python and its standard library, for agents."""
    built_here: bool = False
    """Whether they are built on this machine, so that packages can be added to the training image."""

    def training(self, gpus: int) -> str | None:
        """The image for a training pod that asks for this many GPUs; None where such a job must name its own."""
        return self.train_gpu if gpus else self.train

    def serving(self, gpus: int) -> str:
        """The image for a model server that asks for this many GPUs."""
        return self.serve_gpu if gpus else self.serve


TENSORFLOW = "2.21.0"
# Built on the machine itself (images): TensorFlow's CPU build, and a stand-in for tensorflow/serving.
_EMBEDDED_TRAIN = f"tensorplane.local/train:{TENSORFLOW}"
_EMBEDDED_SERVE = f"tensorplane.local/serving-stand-in:{TENSORFLOW}"
EMBEDDED_IMAGES = Images(
    _EMBEDDED_TRAIN, _EMBEDDED_TRAIN, _EMBEDDED_SERVE, _EMBEDDED_SERVE, _EMBEDDED_TRAIN, built_here=True
)

# TensorFlow's own images with GPU support hold cuDNN 8 since 2.18, which requires cuDNN 9: they see no GPU
# (tensorflow/tensorflow issues 62412, 85689, 94593; tensorflow/build issue 221). examples/gpu-image has one that does.
# TensorFlow Serving's releases lag TensorFlow's. 2.20 loads the SavedModels that 2.21 writes for the ops in use here.
# Of its images with GPU support, 2.19.1-gpu is the newest that is known to be published; both hold the cuDNN that they
# are built with (tensorflow/serving tags 2.19.1 and 2.20.0, tools/docker/Dockerfile.gpu and .bazelrc).
PUBLIC_IMAGES = Images(
    train=f"tensorflow/tensorflow:{TENSORFLOW}",
    train_gpu=None,
    serve="tensorflow/serving:2.20.0",
    serve_gpu="tensorflow/serving:2.19.1-gpu",
    python="python:3.13.2-alpine3.21",
)


@dataclass(frozen=True)
class Chart:
    """A controller's Helm chart, its version, and the image that it runs."""

    name: str
    namespace: str
    version: str
    reference: str
    image: str
    tag: str = "{version}"
    """The image's tag; `{version}` stands for the chart's."""
    repository: str | None = None
    """Address of the chart repository; None for an OCI reference."""

    @property
    def image_tag(self) -> str:
        return self.tag.format(version=self.version)


# The embedded cluster builds Kueue from its Go modules. Of 0.18, no newer one could be fetched; 0.19 is another step.
KUEUE = Chart(
    name="kueue",
    namespace="kueue-system",
    version="0.18.4",
    reference="oci://registry.k8s.io/kueue/charts/kueue",
    image="registry.k8s.io/kueue/kueue",
    tag="v{version}",
)
JOBSET = Chart(
    name="jobset",
    namespace="jobset-system",
    version="0.12.0",
    reference="oci://registry.k8s.io/jobset/charts/jobset",
    image="registry.k8s.io/jobset/jobset",
    tag="v{version}",
)
VOLSYNC = Chart(
    name="volsync",
    namespace="volsync-system",
    version="0.16.0",
    reference="volsync",
    image="quay.io/backube/volsync",
    repository="https://backube.github.io/helm-charts",
)
# The newest one that Go's checksum database can verify, for the embedded cluster. Chart 3.12.2 installs it.
METRICS_SERVER = Chart(
    name="metrics-server",
    namespace="kube-system",
    version="3.12.2",
    reference="metrics-server",
    image="registry.k8s.io/metrics-server/metrics-server",
    tag="v0.7.2",
    repository="https://kubernetes-sigs.github.io/metrics-server/",
)
KEDA = Chart(
    name="keda",
    namespace="keda",
    version="2.17.2",
    reference="keda",
    image="ghcr.io/kedacore/keda",
    repository="https://kedacore.github.io/charts",
)
# The newest chart of prometheus-community/helm-charts@cf408a290, August 2026. The embedded cluster builds Prometheus in
# this release from Go's module v0.314.0.
PROMETHEUS = Chart(
    name="prometheus",
    namespace="prometheus",
    version="29.27.0",
    reference="prometheus",
    image="quay.io/prometheus/prometheus",
    tag="v3.14.0",
    repository="https://prometheus-community.github.io/helm-charts",
)
# Chart 37.0.0 installs this Traefik, which supports version 1.3 of the Gateway API, with its definitions.
TRAEFIK = Chart(
    name="traefik",
    namespace="traefik",
    version="37.0.0",
    reference="traefik",
    image="docker.io/library/traefik",
    tag="v3.5.0",
    repository="https://traefik.github.io/charts",
)
GATEWAY_CLASS = "traefik"
"""The GatewayClass of the Traefik that a stack installs."""
# The newest one that Go's checksum database can verify, for the embedded cluster. Chart 0.46.1 installs it.
ARGO_WORKFLOWS = Chart(
    name="argo-workflows",
    namespace="argo",
    version="0.46.1",
    reference="argo-workflows",
    image="quay.io/argoproj/workflow-controller",
    tag="v3.7.4",
    repository="https://argoproj.github.io/argo-helm",
)
# 0.20.0 is newer, but Go's module proxy, where the embedded cluster gets the chart from, does not serve it.
DEVICE_PLUGIN = Chart(
    name="nvidia-device-plugin",
    namespace="gpu-runtime",
    version="0.19.1",
    reference="nvidia-device-plugin",
    image="nvcr.io/nvidia/k8s-device-plugin",
    tag="v{version}",
    repository="https://nvidia.github.io/k8s-device-plugin",
)
DCGM_EXPORTER = Chart(
    name="dcgm-exporter",
    namespace="gpu-runtime",
    version="4.8.2",
    reference="dcgm-exporter",
    image="nvcr.io/nvidia/k8s/dcgm-exporter",
    tag="4.5.3-{version}-distroless",
    repository="https://nvidia.github.io/dcgm-exporter/helm-charts",
)
GPU_OPERATOR = Chart(
    name="gpu-operator",
    namespace="gpu-runtime",
    version="v26.7.0",
    reference="gpu-operator",
    image="nvcr.io/nvidia/gpu-operator",
    repository="https://helm.ngc.nvidia.com/nvidia",
)
# The last branch of drivers for Maxwell, Pascal and Volta; the operator's own driver has left them behind.
DRIVER_OF_OLD_GPUS = "580.178.04"


@dataclass(frozen=True)
class Offered:
    """The minor versions of Kubernetes 1 that a cloud runs, extended support included."""

    cloud: str
    oldest: int
    newest: int

    @property
    def newest_accepted(self) -> int:
        """The newest version that settings may name: three are released per year, so newer ones may exist by now."""
        return self.newest + 2


# endoflife-date/endoflife.date@a70eca3 of 22 August 2026, without what was past its extended support in November 2026.
# GKE's metrics of JobSets require 1.32, which is also its oldest. EKS' own list is in clusters/eks/check_cluster.py.
OFFERED_IN = "August 2026"
OFFERED_BY_GKE = Offered("GKE", 32, 36)
OFFERED_BY_AKS = Offered("AKS", 31, 36)

# Charts for EKS in addition to its add-ons.
KARPENTER = Chart(
    name="karpenter",
    namespace="kube-system",
    version="1.14.1",
    reference="oci://public.ecr.aws/karpenter/karpenter",
    image="public.ecr.aws/karpenter/controller",
)
# Amazon Linux 2023 in the release of this day, for every Kubernetes version; with NVIDIA's driver where it is needed.
KARPENTER_IMAGE = "al2023@v20260714"
CLUSTER_AUTOSCALER = Chart(
    name="cluster-autoscaler",
    namespace="kube-system",
    version="9.59.0",
    reference="cluster-autoscaler",
    image="registry.k8s.io/autoscaling/cluster-autoscaler",
    tag="v1.35.0",
    repository="https://kubernetes.github.io/autoscaler",
)
# EKS' add-ons by Kubernetes version: the newest for 1.35 in us-east-2 in autumn 2026, as written there by a script that
# asks AWS (devopscoop/aws-eks-template@03f3e08, cluster/terraform.tfvars). EKS takes an add-on's version only for the
# Kubernetes versions that it was built for.
EKS_ADDONS: Mapping[str, Mapping[str, str]] = {
    "1.35": {
        "vpc-cni": "v1.23.0-eksbuild.1",
        "kube-proxy": "v1.35.3-eksbuild.18",
        "eks-pod-identity-agent": "v1.4.0-eksbuild.1",
        "coredns": "v1.14.3-eksbuild.3",
        "aws-ebs-csi-driver": "v1.63.1-eksbuild.1",
        "snapshot-controller": "v8.6.0-eksbuild.4",
        "eks-node-monitoring-agent": "v1.7.0-eksbuild.1",
    },
}
# P6 machines require 0.5.6 or newer (EKS user guide, node-efa). The newest chart of aws/eks-charts@bfe91c4, July 2026.
EFA_DEVICE_PLUGIN = Chart(
    name="aws-efa-k8s-device-plugin",
    namespace="kube-system",
    version="v0.5.30",
    reference="aws-efa-k8s-device-plugin",
    image="602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin",
    tag="v0.5.20",
    repository="https://aws.github.io/eks-charts",
)

# Chart for AKS in addition to its add-ons: the only version that the driver's README calls released.
AZURE_LUSTRE_DRIVER = Chart(
    name="azurelustre-csi-driver",
    namespace="kube-system",
    version="0.6.0",
    reference="oci://mcr.microsoft.com/microsoft.azuremanagedlustre/azurelustre-csi-driver",
    image="mcr.microsoft.com/oss/v2/kubernetes-csi/azurelustre-csi",
    tag="v{version}",
)

# Strimzi 1.2.0's default, and the image of the embedded broker (images).
KAFKA = "4.3.1"
EMBEDDED_KAFKA = f"tensorplane.local/kafka:{KAFKA}"
STRIMZI_API = "kafka.strimzi.io/v1"

# Fetches models from buckets.
RCLONE = "rclone/rclone:1.75.1"

# What the clusters of Rook's documentation run (rook@d0c3b9ce6), for the CronJobs of Ceph's own mirrors.
CEPH_IMAGE = "quay.io/ceph/ceph:v20.2.4"
ROOK_API = "ceph.rook.io/v1"

KUEUE_API = "kueue.x-k8s.io/v1beta2"
KUEUE_CONFIG_API = f"config.{KUEUE_API}"
KUEUE_VISIBILITY_API = f"visibility.{KUEUE_API}"
ARGO_API = "argoproj.io/v1alpha1"
JOBSET_API = "jobset.x-k8s.io/v1alpha2"

# The Pod Security level is checked by these rules also after the cluster's upgrade, until this line changes.
POD_SECURITY = "v1.34"

CHARTS = tuple(pin for pin in vars().values() if isinstance(pin, Chart))
"""Every chart above."""


def too_new(known: Offered, minor: int) -> str | None:
    """Problem and remedy of a minor version that is not offered yet."""
    if minor <= known.newest_accepted:
        return None
    return f"is not offered by {known.cloud} (newest in {OFFERED_IN}: 1.{known.newest}); set 1.{known.newest}"


def offered_problem(known: Offered, minor: int) -> str | None:
    """The same, also for versions that are no longer offered."""
    if minor >= known.oldest:
        return too_new(known, minor)
    return f"is no longer offered by {known.cloud}; set 1.{known.oldest} to 1.{known.newest}"
