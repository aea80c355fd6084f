"""The demonstration at the end of `up` with the digits example: a held-out digit as the model server sees it.

`up` follows the job and the server that `find` names, lets `predict_all` send every held-out digit to the server once
it is Ready, and prints the predictions with `show`. Other stacks have no demonstration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PACKAGE
from tensorplane.driver.watch import MODEL_SERVER, TRAINING_JOB, Outputs

Image = Sequence[Sequence[float]]
_PROGRAMS = frozenset({"examples/digits/train.py", "package:tensorplane/digits/train.py"})
"""The example in a checkout, and in the installed package."""
_REST_PORT = 8501
_BATCH = 128


@dataclass(frozen=True)
class Predictions:
    """The model server's predictions for the held-out digits."""

    image: Image
    label: int
    scores: Sequence[float]
    correct: int
    total: int

    @property
    def predicted(self) -> int:
        return max(range(len(self.scores)), key=lambda digit: self.scores[digit])

    @property
    def accuracy(self) -> float:
        return self.correct / self.total


def find(workloads: Mapping[str, Any]) -> tuple[str, str] | None:
    """The job that trains the digits example and the server of its model, by name; None unless both are declared.

    `workloads`: those of the settings.
    """
    for job, server in product(workloads, workloads):
        of_job, of_server = workloads[job], workloads[server]
        if (of_job.get("kind"), of_server.get("kind")) != (TRAINING_JOB, MODEL_SERVER):
            continue
        trains = not _PROGRAMS.isdisjoint([of_job.get("script"), *(of_job.get("files") or {}).values()])
        if trains and (_model(of_server).get("from") == job or _folder(of_job) == _folder(of_server)):
            return job, server
    return None


def _folder(workload: Mapping[str, Any]) -> tuple[Any, Any]:
    return _model(workload).get("volume"), _model(workload).get("path")


def _model(workload: Mapping[str, Any]) -> Mapping[str, Any]:
    return workload.get("model") or {}


def predict_all(api: Kube, outputs: Outputs) -> Predictions | None:
    """Sends every held-out digit to the server; the first one is shown. None if it serves another model."""
    from tensorplane.digits.data import load  # needs NumPy, which comes with the user's packages, after this start

    _, (images, digits) = load(PACKAGE / "digits" / "digits.csv.gz")
    if not _takes_digits(api, outputs, images[:1].tolist()):
        return None
    scores = _scores_of(api, outputs, images.tolist())
    correct = sum(max(range(10), key=row.__getitem__) == digit for row, digit in zip(scores, digits, strict=True))
    return Predictions(images[0].tolist(), int(digits[0]), scores[0], correct, len(digits))


def _takes_digits(api: Kube, outputs: Outputs, images: Sequence[Image]) -> bool:
    # If the example serves another model now, it rejects an image, or its answer differs.
    rows = _predict(api, outputs, images)
    return rows is not None and isinstance(rows[0], list) and len(rows[0]) == 10


def _scores_of(api: Kube, outputs: Outputs, images: Sequence[Image]) -> list[list[float]]:
    """The scores of each image.

    The server's `maxBatchSize` or its model limits how many images one request may have. The limit is not known here,
    so each refusal halves the size.
    """
    found: list[list[float]] = []
    size = _BATCH
    while len(found) < len(images):
        rows = _predict(api, outputs, images[len(found) : len(found) + size])
        if rows is None and size == 1:
            raise UserError(f"model server {outputs.service}: {outputs.model} answers for some of the digits only")
        size = size if rows else size // 2
        found += rows or ()
    return found


def _predict(api: Kube, outputs: Outputs, images: Sequence[Image]) -> list[Any] | None:
    """The prediction of each image; None if the server refuses the request or answers in another form."""
    path = f"/v1/models/{outputs.model}:predict"
    status, answer = api.request_service(outputs.namespace, outputs.service, _REST_PORT, path, {"instances": images})
    if status not in (200, 400):
        raise UserError(
            f"model server {outputs.service}: a prediction by {outputs.model} failed with status {status}: {answer}"
        )
    rows = answer.get("predictions") if status == 200 else None
    return rows if isinstance(rows, list) and len(rows) == len(images) else None


def show(console: Console, predictions: Predictions) -> None:
    """Prints the first held-out digit, the server's answer and its accuracy over all of them."""
    console.print(_side_by_side(_digit(predictions), _scores(predictions)))
    predicted = f"[bold]{predictions.predicted}[/bold] (it is {predictions.label})"
    console.print(
        f"The server's answer for this held-out digit: {predicted}. "
        f"Of all {predictions.total} held-out digits it has [bold]{predictions.accuracy:.1%}[/bold] right.\n"
    )


def _side_by_side(left: RenderableType, right: RenderableType) -> Table:
    grid = Table.grid(padding=(0, 3))
    grid.add_row(left, right)
    return grid


def _digit(predictions: Predictions) -> Panel:
    # A pixel is two cells wide, so that it looks square; 0 is white and 16 is black in the data set.
    rows = []
    for row in predictions.image:
        text = Text()
        for intensity in row:
            gray = round(255 * min(max(intensity / 16, 0), 1))
            text.append(_SHADES[round(intensity / 16 * (len(_SHADES) - 1))] * 2, style=f"rgb({gray},{gray},{gray})")
        rows.append(text)
    return Panel(Group(*rows), title="a held-out digit", expand=False, padding=(0, 1))


_SHADES = " ░▒▓█"


def _scores(predictions: Predictions) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1))
    for digit, score in enumerate(predictions.scores):
        style = "bold green" if digit == predictions.predicted else "dim"
        table.add_row(str(digit), "█" * round(score * 30) or "▏", f"{score:.3f}", style=style)
    return table
