"""How many GPUs the resources of a stack ask for, whatever object or chart hides them. Without a quota of its own."""
