"""Queues that share the cluster between jobs: Kueue's objects from a few settings and the node groups."""
