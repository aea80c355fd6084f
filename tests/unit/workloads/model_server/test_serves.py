"""What a preview says that a server serves."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.workloads.model_server import serves
from tensorplane.workloads.model_server.settings import ServedModel

_HERE = {"volume": "models", "path": "digits"}
_ERRORS = {"metric": "errorRate", "threshold": 0.01}
_EXAMPLES = {"volume": "models", "path": "held-out.jsonl"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "the newest version"),
        ({"versions": {"latest": 2}}, "the 2 newest versions"),
        ({"versions": {"specific": [4, 3]}}, "versions 3, 4"),
        ({"versions": {"specific": [3]}}, "version 3"),
        ({"versions": "all"}, "all versions"),
        ({"pin": 3, "canary": {"gate": _ERRORS}}, "version 3, pinned"),
        (
            {"canary": {"percent": 25, "gate": _ERRORS}},
            "canary of 25 %; errorRate at most 0.01 after 100 requests",
        ),
        (
            {
                "canary": {
                    "version": 7,
                    "gate": [
                        {**_ERRORS, "minRequests": 500},
                        {"metric": "accuracy", "threshold": 0.95, "examples": _EXAMPLES},
                    ],
                }
            },
            "canary of 10 % for version 7; errorRate at most 0.01 after 500 requests; accuracy at least 0.95",
        ),
    ],
)
def test_words_of_a_model(settings: dict[str, Any], words: str) -> None:
    model = ServedModel.model_validate({**_HERE, **settings})
    assert serves.words({"digits": model}) == {"digits": words}
