"""A sheet and its labels become an array: a row for each digit, with its 64 pixels and the digit itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sheets import digits_on

for sheet in Path("/in/sheets").iterdir():
    images = digits_on(sheet)
    labels = np.array(Path("/in/labels", f"{sheet.stem}.txt").read_text().split(), np.uint8)
    np.save(Path("/out", f"{sheet.stem}.npy"), np.column_stack([images.reshape(len(labels), -1), labels]))
