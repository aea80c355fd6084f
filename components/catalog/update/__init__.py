"""Turns snapshots of public repositories into the catalog's data files: `make catalog-update SNAPSHOTS=folder`.

Not required to run a stack. It extracts machines and prices from published repositories and writes
`components/catalog/data/`, so that an update is one command and one diff to review.
"""
