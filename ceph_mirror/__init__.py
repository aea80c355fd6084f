"""What a mirrored CephFS volume's CronJob runs beside Rook: Ceph's image has Python 3.9 and no more than that."""
