"""A CSI driver on copy-on-write storage of this machine: the embedded cluster's volumes, snapshots and clones."""
