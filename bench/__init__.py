"""Measured figures: `make bench`, or `make bench ONLY=name`."""
