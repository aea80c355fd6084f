"""Two replicas in the process of the tests, without a GPU.

Import it before TensorFlow is used: TensorFlow settles its devices then.
"""

from __future__ import annotations

import functools

import tensorflow as tf

from tensorplane.keras import repair

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
repair.install()


@functools.cache
def strategy() -> tf.distribute.Strategy:
    """The strategy with a replica on each: one in a process, since TensorFlow confuses the exchanges of two."""
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
