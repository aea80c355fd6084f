"""Lets the workers of older programs end at different times, though their sessions name no `device_filters`.

By default, a session connects to every worker of the cluster when it opens and when it closes. If one has ended, it
waits forever. A worker of a between-graph program requires only the parameter servers and itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def install(index: int) -> None:
    """Adds `device_filters` to the sessions of this worker that have none, on the servers of a cluster."""
    from tensorflow.core.protobuf.config_pb2 import ConfigProto
    from tensorflow.python.client.session import BaseSession
    from tensorflow.python.eager import context

    original: Callable[..., None] = BaseSession.__init__

    def filtered(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if str(target).startswith("grpc://") and (config is None or isinstance(config, ConfigProto)):
            # Without a config, a session takes that of the process, with its threads and GPU options.
            given = config or context.context().config
            if not given.device_filters:
                config = ConfigProto.FromString(given.SerializeToString())
                config.device_filters.extend(["/job:ps", f"/job:worker/task:{index}"])
        original(self, target, graph, config)

    BaseSession.__init__ = filtered
