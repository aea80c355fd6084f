"""A cluster of an earlier version, taken over: a folder of its own, since it needs the instance before others do."""
