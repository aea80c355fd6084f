"""Mirrors: continuously updated copies of volumes elsewhere."""
