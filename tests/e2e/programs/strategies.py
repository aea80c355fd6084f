"""The strategy that the variable STRATEGY names, created as TensorFlow documents it, without tensorplane."""

from __future__ import annotations

import os

import tensorflow as tf


def chosen() -> tf.distribute.Strategy:
    """`mirrored` has two replicas on this machine's processor, which has no GPUs."""
    name = os.environ["STRATEGY"]
    if name == "mirrored":
        [cpu] = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    if name == "multiWorkerMirrored":
        return tf.distribute.MultiWorkerMirroredStrategy()
    if name == "parameterServer":
        return tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.TFConfigClusterResolver())
    return tf.distribute.get_strategy()
