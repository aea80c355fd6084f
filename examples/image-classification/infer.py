"""Asks the served model what is on each sheet. The answers have the form of labels: correct them, and commit them."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path

import numpy as np
from sheets import digits_on, written

version = json.loads(Path("/in/live/served.json").read_text())["version"]
url = f"{os.environ['MODEL_URL']}/versions/{version}:predict"
for sheet in Path("/in/sheets").iterdir():
    request = json.dumps({"instances": digits_on(sheet).tolist()}).encode()
    with urllib.request.urlopen(url, request) as answer:  # noqa: S310  # of the settings
        scores = json.load(answer)["predictions"]
    Path("/out", f"{sheet.stem}.txt").write_text(written(np.argmax(scores, axis=1)))
