"""Checks of node groups and of pods on them."""
