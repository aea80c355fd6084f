"""What can store a volume, a kind in each file."""
