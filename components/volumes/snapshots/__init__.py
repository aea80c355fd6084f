"""Snapshots of volumes: schedules, snapshot classes, and backup services of clouds."""
