"""The program of a worker of tf.data service, which runs the input pipeline for training pods."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# In pods it is started by its path, isolated from the user's modules. Files of a ConfigMap are symbolic links to
# another folder, hence no `resolve`.
sys.path.insert(0, str(Path(__file__).absolute().parents[2]))

from tensorplane.stop import StopRequest


def main() -> None:
    """Serves until asked to stop: SIGTERM ends the process with EXIT_SAVED, because nothing of it is unsaved."""
    StopRequest()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    import tensorflow as tf

    service = tf.data.experimental.service
    address = os.environ["TENSORPLANE_ADDRESS"]
    config = service.WorkerConfig(
        dispatcher_address=os.environ["TENSORPLANE_DATA_SERVICE"].removeprefix("grpc://"),
        worker_address=address,
        port=int(address.rpartition(":")[2]),
    )
    server = service.WorkerServer(config)
    print(f"tensorplane: serving=data-worker address={address}", flush=True)
    server.join()


if __name__ == "__main__":
    main()
