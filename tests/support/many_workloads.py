"""Previews of a stack with very many workloads, made of the events of one that has one of each."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from tensorplane.cli.commands.preview.engine import Streamed
from tests.support import previewed_graphs

ONE = "job-0000"


def streamed(tree: Mapping[str, Any], job: str, many: int, **settings: Any) -> Streamed:
    """The preview of these settings, with so many training jobs like `job`, which have other settings too."""
    changed = copy.deepcopy(dict(tree))
    changed["workloads"][ONE] = {**changed["workloads"][job], **settings}
    found = previewed_graphs.streamed(changed)
    kept = [json.dumps(event) for event in found.events]
    of_one = [text for text in kept if f"::{ONE}" in text]
    copies = [_copy(text, number) for text in of_one for number in range(1, many)]
    return Streamed([json.loads(text) for text in (*kept, *copies)], failed=found.failed)


def _copy(text: str, number: int) -> str:
    """The event of another job, whose runs have other digests in their names."""
    name = f"job-{number:04}"
    for digest in set(re.findall(rf"{ONE}-([0-9a-f]{{8}})", text)):
        text = text.replace(digest, hashlib.sha256(f"{digest} {name}".encode()).hexdigest()[:8])
    return text.replace(ONE, name)
