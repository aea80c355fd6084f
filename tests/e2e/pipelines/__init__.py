"""Pipelines on the embedded cluster: all of them in one update of the dev stack."""
