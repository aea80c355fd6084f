"""Training jobs in a cluster, as the commands about them see them: which there are, which one a name means."""
