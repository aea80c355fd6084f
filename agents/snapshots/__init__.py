"""Scheduled snapshots of a volume: take one, wait until it is ready, delete expired ones."""
