"""Sweeps: trials of one training job with other values of its parameters, started and stopped by a controller."""
