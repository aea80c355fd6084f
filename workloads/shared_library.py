"""tensorplane's library in the stack's namespace, once for all its training jobs: it has half a megabyte."""

import pulumi_kubernetes as k8s

from components.namespace import Namespace
from workloads import sources
from workloads.manifests import files
from workloads.owner import Owner


def create(namespace: Namespace) -> "k8s.core.v1.ConfigMap":
    """The ConfigMap. Another version of the library is another one, and the former is deleted after all JobSets that
    mount it have been replaced."""
    owner = Owner(namespace, "tensorplane", namespace, "training")
    return owner.config_map(files.shared_library(sources.library()))
