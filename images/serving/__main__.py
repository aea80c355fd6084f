"""Starts the stand-in. Flags come first: a wrong one is refused before TensorFlow is imported, which takes seconds."""

from __future__ import annotations

import sys

from . import flags

if __name__ == "__main__":
    parsed = flags.parse(sys.argv[1:])

    from .servers import serve

    sys.exit(serve(parsed))
