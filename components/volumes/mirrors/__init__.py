"""Mirrors: copies of volumes elsewhere that follow by themselves."""
