"""Recorders: a Deployment that makes versions of a dataset of the records of a topic."""
