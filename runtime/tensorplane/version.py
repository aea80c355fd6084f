"""The library's version."""

__version__ = "0.2.0"
"""Recorded in a run's `run.json` and in published models; another version continues the same run."""
