"""The values of `values.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def _written_out(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"times"}:
        text, count = value["times"]
        return text * count
    if isinstance(value, dict):
        return {key: _written_out(inner) for key, inner in value.items()}
    return [_written_out(inner) for inner in value] if isinstance(value, list) else value


VALUES: dict[str, Any] = _written_out(yaml.safe_load(Path(__file__).with_name("values.yaml").read_text()))
