"""Counts the GPUs that the resources of a stack request, in any kind of object or chart. It has no quota."""
