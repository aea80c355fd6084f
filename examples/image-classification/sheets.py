"""Sheets of handwritten digits, as a scanner makes them: 15 rows of 20, in a PGM file, black on white.

    python3 examples/image-classification/sheets.py FOLDER

writes the UCI handwritten digits, which scikit-learn ships, as five sheets to FOLDER/sheets, with the digits on them in
FOLDER/labels. Digits that are on no sheet are in FOLDER/held-out.jsonl, in the form of a model server's gate.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

ROWS, COLUMNS = 15, 20
SIZE = 8
"""Pixels of a digit, in each direction, as the network reads it; its ink is from 0 to 16."""
_SCALE = 4
"""A sheet has so many pixels for each of them, in each direction."""
_HEADER = re.compile(rb"P5\s+(\d+)\s+(\d+)\s+(\d+)\s")
_INK, _WHITE = 16, 255
_SIDE = SIZE * _SCALE


def digits_on(sheet: Path) -> np.ndarray:
    """The digits on a sheet, row by row, each as 8 rows of 8 values of ink from 0 to 16."""
    content = sheet.read_bytes()
    if (header := _HEADER.match(content)) is None:
        sys.exit(f"{sheet.name}: is no PGM file")
    columns, rows, white = map(int, header.groups())
    paper = np.frombuffer(content, np.uint8, offset=header.end()).reshape(rows, columns)
    ink = (1 - paper / white) * _INK
    blocks = ink.reshape(rows // _SCALE, _SCALE, columns // _SCALE, _SCALE).mean(axis=(1, 3))
    cells = blocks.reshape(blocks.shape[0] // SIZE, SIZE, blocks.shape[1] // SIZE, SIZE).swapaxes(1, 2)
    digits: np.ndarray = cells.reshape(-1, SIZE, SIZE).round().astype(np.uint8)
    return digits


def scan(images: np.ndarray) -> bytes:
    """The PGM file of a sheet with these digits."""
    cells = images.reshape(ROWS, COLUMNS, SIZE, SIZE).swapaxes(1, 2).reshape(ROWS * SIZE, COLUMNS * SIZE)
    paper = (_WHITE - cells * (_WHITE / _INK)).round().astype(np.uint8)
    pixels = paper.repeat(_SCALE, axis=0).repeat(_SCALE, axis=1)
    return f"P5 {COLUMNS * _SIDE} {ROWS * _SIDE} {_WHITE}\n".encode() + pixels.tobytes()


def written(digits: np.ndarray) -> str:
    """The digits on a sheet as text: one line for each row."""
    return "".join(" ".join(map(str, row)) + "\n" for row in digits.reshape(-1, COLUMNS))


def main(folder: Path) -> None:
    """Write the sheets."""
    found = find_spec("sklearn")
    if found is None or found.origin is None:
        sys.exit("sklearn: scikit-learn, which has the digits, is not installed; run: pip install scikit-learn")
    source = Path(found.origin).parent / "datasets" / "data" / "digits.csv.gz"
    table = np.loadtxt(source, delimiter=",", dtype=np.uint8)
    images, digits = table[:, :-1].reshape(-1, SIZE, SIZE), table[:, -1]
    for name in ("sheets", "labels"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    on_one = ROWS * COLUMNS
    last = len(digits) // on_one * on_one
    for number, first in enumerate(range(0, last, on_one), 1):
        there = slice(first, first + on_one)
        (folder / "sheets" / f"sheet-{number}.pgm").write_bytes(scan(images[there]))
        (folder / "labels" / f"sheet-{number}.txt").write_text(written(digits[there]))
    with (folder / "held-out.jsonl").open("w") as lines:
        for image, digit in zip(images[last:].tolist(), digits[last:].tolist(), strict=True):
            print(json.dumps({"instance": image, "label": digit}), file=lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
