"""Mirrors a CephFS volume to another site by Ceph itself.

A CronJob in Rook's namespace runs it, in Ceph's image, whose Python is 3.9. It reads the volume of a claim, registers
the volume's directory for mirroring, takes a snapshot for Ceph to send, and deletes its oldest snapshots. Each step can
be repeated, so a crash leaves a run that the retry or the next run completes.
"""
