"""The messages by which engine and pack talk, without the SDK that contains them: importing all of it takes longer than
the rest of the pack's start, for which the engine waits before it starts the program.
"""

import importlib.util
import sys

for _name in ("pulumi", "pulumi.runtime", "pulumi.runtime.proto"):
    # Pulumi's own language host has imported the SDK by now.
    if _name not in sys.modules and (_spec := importlib.util.find_spec(_name)):
        sys.modules[_name] = importlib.util.module_from_spec(_spec)  # not executed: it only says where its modules are

from pulumi.runtime.proto import analyzer_pb2, plugin_pb2  # noqa: E402

__all__ = ["analyzer_pb2", "plugin_pb2"]
