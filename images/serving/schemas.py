"""Messages of TF Serving that the package tensorflow-serving-api lacks: batching parameters and monitoring.

Names, numbers and types are those of session_bundle_config.proto and monitoring_config.proto.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

_Field = descriptor_pb2.FieldDescriptorProto
_WRAPPED = {"int64": "Int64Value", "bool": "BoolValue"}
_PLAIN = {"int64": _Field.TYPE_INT64, "bool": _Field.TYPE_BOOL, "string": _Field.TYPE_STRING}


def _message(name: str, fields: Mapping[str, tuple[int, str]]) -> descriptor_pb2.DescriptorProto:
    """A message; a field's type begins with `repeated ` or `wrapped ` where it is that, or is a message's name."""
    made = descriptor_pb2.DescriptorProto(name=name)
    for field, (number, kind) in fields.items():
        how, _, of = kind.rpartition(" ")
        label = _Field.LABEL_REPEATED if how == "repeated" else _Field.LABEL_OPTIONAL
        added = made.field.add(name=field, number=number, label=label)
        if how == "wrapped":
            added.type, added.type_name = _Field.TYPE_MESSAGE, f".google.protobuf.{_WRAPPED[of]}"
        elif of in _PLAIN:
            added.type = _PLAIN[of]
        else:
            added.type, added.type_name = _Field.TYPE_MESSAGE, f".tensorplane.{of}"
    return made


_FILE = descriptor_pb2.FileDescriptorProto(
    name="tensorplane/serving.proto",
    package="tensorplane",
    syntax="proto3",
    dependency=[wrappers_pb2.DESCRIPTOR.name],
    message_type=[
        _message(
            "BatchingParameters",
            {
                "max_batch_size": (1, "wrapped int64"),
                "batch_timeout_micros": (2, "wrapped int64"),
                "max_enqueued_batches": (3, "wrapped int64"),
                "num_batch_threads": (4, "wrapped int64"),
                "allowed_batch_sizes": (6, "repeated int64"),
            },
        ),
        _message("PrometheusConfig", {"enable": (1, "bool"), "path": (2, "string")}),
        _message("MonitoringConfig", {"prometheus_config": (1, "PrometheusConfig")}),
    ],
)
_POOL = descriptor_pool.DescriptorPool()
_POOL.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
_POOL.Add(_FILE)


def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"tensorplane.{name}"))


BatchingParameters, MonitoringConfig = _class("BatchingParameters"), _class("MonitoringConfig")
