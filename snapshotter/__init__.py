"""What a volume's CronJob runs in the cluster: take a snapshot, wait until it is ready, delete what is past."""
