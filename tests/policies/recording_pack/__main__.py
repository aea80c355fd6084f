"""The policy pack, which also keeps what the engine sends it, in the file that TENSORPLANE_SENT names."""

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "policies"))

import analyzer  # type: ignore[import-not-found]
from rules import found  # type: ignore[import-not-found]


class Recording(analyzer.Analyzer):  # type: ignore[misc]
    """Answers as the pack does."""

    def analyze_stack(self, request: Any, context: Any) -> Any:
        """What the rules report, once the resources are kept."""
        Path(os.environ["TENSORPLANE_SENT"]).write_bytes(request.SerializeToString())
        return super().analyze_stack(request, context)


analyzer.Analyzer = Recording
analyzer.serve("tensorplane", found())
