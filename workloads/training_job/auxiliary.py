"""Pods that any strategy may have in addition to those that train: an evaluator, and tf.data service."""

from typing import Annotated

from pydantic import Field

from tensorplane.components.base.model import Argument, Model, Resources


class Evaluator(Model):
    """A pod that evaluates checkpoints while the job trains. It is no part of the cluster, and ends with the job."""

    resources: Resources = Resources()
    """Resources of its pod; CPUs by default, even if the job trains on GPUs."""
    command: Annotated[list[Argument], Field(min_length=1)] | None = None
    """Its command, by default the job's, which then reads the task type `evaluator` from TF_CONFIG."""


class DataService(Model):
    """tf.data service: pods that run the input pipeline for all training pods, with the library's own programs.

    The variable TENSORPLANE_DATA_SERVICE has its address, for `tf.data.experimental.service.distribute`.
    """

    workers: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of pods that produce elements. A dispatcher of half a CPU core and 1 GiB is added."""
    resources: Resources = Resources()
    """Resources of each of these pods, without GPUs."""
