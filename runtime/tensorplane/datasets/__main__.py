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
from typing import Any, BinaryIO

from tensorplane.datasets import request_keys, requests
from tensorplane.datasets.dataset import Dataset
from tensorplane.datasets.errors import Refused, permanent_errors_refused


def main(verb: str, root: str, source: BinaryIO, out: BinaryIO) -> None:
    """Answers one request."""
    asked = _asked(source.readline())
    request_keys.check(verb, asked)
    asked = {key: value for key, value in asked.items() if value is not None}  # null says as much as no key
    name, volume = asked.get("dataset", Path(root).name), asked.get("volume", "")
    with permanent_errors_refused(Path(root), what=f"{name}: what {verb!r} writes", volume=volume, dataset=name):
        answer = requests.VERBS[verb](Dataset(Path(root)), asked, source, out)
    if answer is not None:
        out.write(json.dumps(answer, default=asdict).encode() + b"\n")
    out.flush()


def _asked(line: bytes) -> Any:
    try:
        return json.loads(line.strip() or b"{}")
    except ValueError as error:
        raise Refused(f"the request is no line of JSON: {error}; write it in one line") from None


if __name__ == "__main__":
    try:
        _, verb, root = sys.argv
        main(verb, root, os.fdopen(0, "rb"), sys.stdout.buffer)
    except Refused as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"{error.filename or sys.argv[2]}: {error.strerror or error}")
