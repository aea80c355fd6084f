"""Mirrors of CephFS volumes by Ceph itself. It runs in Rook's namespace, in Ceph's image, whose Python is 3.9."""
