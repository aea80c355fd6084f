"""Checks of node groups: what their settings ask for and no cluster, catalog or node has."""
