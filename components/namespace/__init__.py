"""The stack's namespace."""
