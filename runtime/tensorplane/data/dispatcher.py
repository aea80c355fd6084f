"""The program of tf.data service's dispatcher, which hands the elements of data sets out to its workers.

In a job with checkpoints, it keeps a journal on their volume: if its pod is lost, the next one continues, and training
goes on. When it is asked to stop, the journal goes with it: the job restarts, and reads its data from the beginning.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

# In pods it is started by its path, isolated from the user's modules. Files of a ConfigMap are symbolic links to
# another folder, hence no `resolve`.
sys.path.insert(0, str(Path(__file__).absolute().parents[2]))

from tensorplane.checkpoints.run_folder import RUN
from tensorplane.stop import EXIT_SAVED, StopRequest

_POLL_SECONDS = 0.2


def journal_of(environment: Mapping[str, str]) -> Path:
    """Folder of the journal. Journals of other Jobs, of gangs before a restart, are deleted."""
    run = environment.get(RUN)
    if run is None:
        return Path("/tmp/tensorplane-data-service")  # noqa: S108
    journals, own = Path(run).with_name(f".data-service-{Path(run).name}"), environment["TENSORPLANE_JOB"]
    for other in journals.glob("*"):
        if other.name != own:
            shutil.rmtree(other, ignore_errors=True)
    return journals / own


def main() -> int:
    """Serves until asked to stop. It then ends with EXIT_SAVED, because its Job would count 0 as a success."""
    stop = StopRequest()
    journal = journal_of(os.environ)
    journal.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    with stop.deferred():
        import tensorflow as tf

        service = tf.data.experimental.service
        address = os.environ["TENSORPLANE_ADDRESS"]
        config = service.DispatcherConfig(
            port=int(address.rpartition(":")[2]), work_dir=str(journal), fault_tolerant_mode=True
        )
        server = service.DispatchServer(config)
        print(f"tensorplane: serving=dispatcher address={address}", flush=True)
        while not stop.came:
            time.sleep(_POLL_SECONDS)
        del server
        shutil.rmtree(journal, ignore_errors=True)
    return EXIT_SAVED


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # TensorFlow's threads would keep the process.
    os._exit(code)
