"""Returns the quota of admitted jobs that cannot start, and retries them later; takes flavors without nodes out of use.

It watches Workloads, their pods, Jobs and Events, and the nodes of flavors. It deactivates a Workload whose pods are
refused or fit no node, and activates it again later; it taints ResourceFlavors none of whose nodes takes pods. The
state of a Workload is in its annotations, written together with the change. So a crash leaves no change half done, and
the next reconcile continues. Meanwhile, Kueue's own time limit evicts jobs that cannot start.
"""
