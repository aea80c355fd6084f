"""Datasets: named, versioned collections of files on a volume."""
