"""Command line: the flags of tensorflow_model_server that the stand-in supports. All others are refused by name."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Flags:
    """The server's options. Defaults are those of main.cc and of the image's entry point."""

    port: int
    rest_api_port: int
    model_name: str
    model_base_path: Path
    file_system_poll_wait_seconds: int
    max_num_load_retries: int
    load_retry_interval_micros: int
    tensorflow_intra_op_parallelism: int
    tensorflow_inter_op_parallelism: int
    model_config_file: Path | None
    model_config_file_poll_wait_seconds: int
    allow_version_labels_for_unavailable_models: bool
    enable_batching: bool
    batching_parameters_file: Path | None
    monitoring_config_file: Path | None
    enable_model_warmup: bool
    enable_grpc_healthcheck_service: bool
    per_process_gpu_memory_fraction: float


def parse(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Flags:
    """Reads the flags, which override the image's environment variables. An error ends the process with code 2."""
    parser = argparse.ArgumentParser(prog="serving-stand-in", allow_abbrev=False, description=__doc__)
    name = environment.get("MODEL_NAME", "model")
    parser.add_argument("--port", type=int, default=8500, help="gRPC port; 0 for none")
    parser.add_argument("--rest_api_port", type=int, default=8501, help="REST port; 0 for none")
    parser.add_argument("--model_name", default=name)
    parser.add_argument("--model_base_path", type=Path, help="default: $MODEL_BASE_PATH/$MODEL_NAME")
    parser.add_argument("--file_system_poll_wait_seconds", type=int, default=1, help="0: look once")
    parser.add_argument("--max_num_load_retries", type=int, default=5)
    parser.add_argument("--load_retry_interval_micros", type=int, default=60_000_000)
    parser.add_argument("--tensorflow_intra_op_parallelism", type=int, default=0, help="0: TensorFlow decides")
    parser.add_argument("--tensorflow_inter_op_parallelism", type=int, default=0, help="0: TensorFlow decides")
    parser.add_argument("--model_config_file", type=Path, help="models, instead of --model_name and --model_base_path")
    parser.add_argument("--model_config_file_poll_wait_seconds", type=int, default=0, help="0: read it once")
    _switch(parser, "--allow_version_labels_for_unavailable_models", default=False)
    _switch(parser, "--enable_batching", default=False)
    parser.add_argument("--batching_parameters_file", type=Path)
    parser.add_argument("--monitoring_config_file", type=Path)
    _switch(parser, "--enable_model_warmup", default=True)
    _switch(parser, "--enable_grpc_healthcheck_service", default=False)
    parser.add_argument("--per_process_gpu_memory_fraction", type=float, default=0, help="of no effect without GPUs")
    known, unknown = parser.parse_known_args(arguments)
    if unknown:
        names = ", ".join(word.partition("=")[0] for word in unknown)
        parser.error(f"unknown {names}; the stand-in supports fewer flags than tensorflow_model_server")
    if known.model_base_path is None:
        known.model_base_path = Path(environment.get("MODEL_BASE_PATH", "/models")) / name
    return Flags(**vars(known))


def _switch(parser: argparse.ArgumentParser, name: str, *, default: bool) -> None:
    """A flag of main.cc that may stand alone or with a value."""
    parser.add_argument(name, type=_is_true, nargs="?", const=True, default=default, metavar="true|false")


def _is_true(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"{text!r} is not true or false")
    return text.lower() in ("true", "1")
