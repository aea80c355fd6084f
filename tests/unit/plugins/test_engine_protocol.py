"""Hosts and providers have the engine's messages without the SDK, which takes longer to import than all of them."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.rendering import PROJECT

_PROGRAM = """
import json, sys
from tensorplane.plugins import engine_protocol
engine_protocol.without_sdk()
from tensorplane.plugins.hosts import language
from tensorplane.plugins.kubernetes import servicer
from pulumi.runtime.proto import language_pb2, provider_pb2
print(json.dumps(sorted(name for name in sys.modules if name.startswith("pulumi"))))
"""


def test_the_host_and_the_provider_import_the_messages_alone() -> None:
    shown = subprocess.run([sys.executable, "-c", _PROGRAM], cwd=PROJECT, capture_output=True, text=True, check=True)
    imported = set(json.loads(shown.stdout))
    messages = {name for name in imported if name.startswith("pulumi.runtime.proto")}
    assert imported - messages == {"pulumi", "pulumi.runtime"}
