"""Tests of simulated nodes: the real scheduler places pods on three generations of GPUs that are not there."""
