"""A program of `agents/` in the cluster: its pods, rights, Lease and alerts."""
