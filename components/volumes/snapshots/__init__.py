"""Snapshots of volumes: schedules, classes, and the services of clouds that take them."""
