"""Runs both servers and the watch over the model's folder, and drains on SIGTERM."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading

import tensorflow as tf
import uvicorn

from . import flags, grpc_api, rest
from .error import ServingError
from .serving import Serving

log = logging.getLogger("serving-stand-in")
DRAIN_SECONDS = 20


def serve(parsed: flags.Flags) -> int:
    """Serves until SIGTERM or SIGINT, finishes running requests, and returns the exit code."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO, stream=sys.stdout)
    log.info("this is tensorplane's stand-in for tensorflow/serving, on TensorFlow %s", tf.__version__)
    tf.config.threading.set_intra_op_parallelism_threads(parsed.tensorflow_intra_op_parallelism)
    tf.config.threading.set_inter_op_parallelism_threads(parsed.tensorflow_inter_op_parallelism)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        serving = Serving.of(parsed)
        serving.begin(parsed, stop)
        return _run_servers(parsed, serving, stop)
    except ServingError as error:
        log.error("%s", error.message)
        return 1
    except OSError as error:
        log.error("%s: another process may use it; ports are set by --port and --rest_api_port", error)
        return 1


def _run_servers(parsed: flags.Flags, serving: Serving, stop: threading.Event) -> int:
    grpc_server = grpc_api.server(serving, parsed) if parsed.port else None
    if grpc_server:
        grpc_server.start()
        log.info("gRPC API at port %d", parsed.port)
    try:
        if not parsed.rest_api_port:
            stop.wait()
            return 0
        config = uvicorn.Config(
            rest.application(serving),
            host="0.0.0.0",  # noqa: S104 - a server in a pod is reached at the pod's address
            port=parsed.rest_api_port,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
        listening = config.bind_socket()
        # Inherited by each connection. Without it, an answer's second part waits for the client's delayed receipt of
        # the first, 40 ms, on each request but a connection's first.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        log.info("REST API at port %d", parsed.rest_api_port)
        # It drains on SIGTERM by itself, then calls our handler.
        uvicorn.Server(config).run(sockets=[listening])
        return 0
    finally:
        if grpc_server:
            grpc_server.stop(DRAIN_SECONDS).wait()
        log.info("stopped")
