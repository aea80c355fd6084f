"""A cluster of several real nodes, which are drained, stopped, cut off and killed."""
