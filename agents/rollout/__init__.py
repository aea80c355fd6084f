"""Moves a model server from one version of its model to the next: a canary first, then all replicas, or back."""
