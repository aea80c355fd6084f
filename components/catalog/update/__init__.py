"""Turns snapshots of public repositories into the catalog's data files: `make catalog-update SNAPSHOTS=folder`.

Nobody needs this to run a stack. It reads what others publish about machines and prices, takes the figures, and writes
`components/catalog/data/`, so that an update is one command and one diff to review.
"""
