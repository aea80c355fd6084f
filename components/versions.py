"""The one list of what is pinned: images by kind of cluster, charts, API versions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Images:
    """The images that workloads run when their settings name none."""

    train: str
    train_gpu: str
    serve: str
    serve_gpu: str

    def training(self, gpus: int) -> str:
        """The image for a training pod that asks for this many GPUs."""
        return self.train_gpu if gpus else self.train

    def serving(self, gpus: int) -> str:
        """The image for a model server that asks for this many GPUs."""
        return self.serve_gpu if gpus else self.serve


# Built on the machine itself (embedded/images): TensorFlow's CPU build, and a stand-in for tensorflow/serving.
_EMBEDDED_TRAIN = "tensorplane.local/train:2.21.0"
_EMBEDDED_SERVE = "tensorplane.local/serving-stand-in:2.21.0"
_EMBEDDED = Images(_EMBEDDED_TRAIN, _EMBEDDED_TRAIN, _EMBEDDED_SERVE, _EMBEDDED_SERVE)

# TensorFlow Serving's releases lag TensorFlow's. 2.20 loads the SavedModels that 2.21 writes for the ops in use here.
_PUBLIC = Images(
    train="tensorflow/tensorflow:2.21.0",
    train_gpu="tensorflow/tensorflow:2.21.0-gpu",
    serve="tensorflow/serving:2.20.0",
    serve_gpu="tensorflow/serving:2.20.0-gpu",
)


def images(cluster_kind: str) -> Images:
    """The images for a kind of cluster: built here for `embedded`, the public ones for every other."""
    return _EMBEDDED if cluster_kind == "embedded" else _PUBLIC


@dataclass(frozen=True)
class Chart:
    """A controller's Helm chart, its version, and the image that it runs."""

    name: str
    namespace: str
    version: str
    reference: str
    image: str
    image_tag: str


# 0.19.2 is newer, but its modules cannot be verified against Go's checksum database.
KUEUE = Chart(
    name="kueue",
    namespace="kueue-system",
    version="0.18.2",
    reference="oci://registry.k8s.io/kueue/charts/kueue",
    image="registry.k8s.io/kueue/kueue",
    image_tag="v0.18.2",
)
JOBSET = Chart(
    name="jobset",
    namespace="jobset-system",
    version="0.12.0",
    reference="oci://registry.k8s.io/jobset/charts/jobset",
    image="registry.k8s.io/jobset/jobset",
    image_tag="v0.12.0",
)

KUEUE_API = "kueue.x-k8s.io/v1beta2"
JOBSET_API = "jobset.x-k8s.io/v1alpha2"

# The Pod Security level is checked by these rules also after the cluster's upgrade, until this line changes.
POD_SECURITY = "v1.34"
