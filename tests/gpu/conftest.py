"""These tests are collected only to be listed, and where NVIDIA's driver is: importing TensorFlow takes seconds."""

from __future__ import annotations

import shutil

import pytest


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return None if config.option.collectonly or shutil.which("nvidia-smi") else True
