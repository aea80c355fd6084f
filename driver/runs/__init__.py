"""What an update does to the runs of training jobs: which continue, which are replaced by new runs, and why."""
