"""These tests are collected only on a machine with NVIDIA's driver; importing TensorFlow takes seconds."""

from __future__ import annotations

import shutil

collect_ignore_glob = [] if shutil.which("nvidia-smi") else ["test_*.py"]
