"""The embedded cluster's CSI driver: volumes, snapshots and clones on this machine's copy-on-write storage."""
