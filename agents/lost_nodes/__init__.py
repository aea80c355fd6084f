"""Ends, replaces or moves the pods of nodes that are lost, leave or are faulty, where that is safe and helps.

It watches nodes, their Leases, and the pods on nodes that are in trouble. It taints nodes, ends, deletes or evicts
pods, makes pods unready, and creates an Event for each pod. It remembers heartbeats and faults only in memory, by its
own clock; a second process observes them while it waits for the Lease. A crash leaves taints, which the next process
takes off once the node is back; without a second process, silence and faults count from the restart.
"""
