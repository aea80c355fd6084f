"""`python3 -m tensorplane.datasets VERB ROOT`: a dataset for programs of any language, and for `tensorplane data`.

The request is a line of JSON on standard input, the answer one on standard output. `put` reads, after the request, the
contents of the files that the dataset lacks, one after the other; `send` writes contents in the same way. What is
refused goes to standard error, a line per fault, and the exit status is 1.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from tensorplane.datasets import lasting, requests
from tensorplane.datasets.dataset import Dataset
from tensorplane.datasets.refused import Refused


def main(verb: str, root: str, source: BinaryIO, out: BinaryIO) -> None:
    """Answer one request."""
    asked = json.loads(source.readline() or b"{}")
    name, volume = asked.get("dataset", Path(root).name), asked.get("volume", "")
    with lasting.refused(Path(root), what=f"{name}: what {verb!r} writes", volume=volume, dataset=name):
        answer = requests.VERBS[verb](Dataset(Path(root)), asked, source, out)
    if answer is not None:
        out.write(json.dumps(answer, default=asdict).encode() + b"\n")
    out.flush()


if __name__ == "__main__":
    try:
        _, verb, root = sys.argv
        main(verb, root, os.fdopen(0, "rb"), sys.stdout.buffer)
    except Refused as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"{error.filename or sys.argv[2]}: {error.strerror or error}")
