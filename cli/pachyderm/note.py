"""What becomes of a field that has no equal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A field, what becomes of it, and what to do."""

    pipeline: str
    """The pipeline's name, as its spec has it."""
    field: str
    """The field's path in the spec."""
    fate: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.pipeline}.{self.field}: {self.fate}; {self.remedy}"
