"""Tests of the embedded cluster itself."""
