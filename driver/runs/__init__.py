"""What an update does to the runs of training jobs: which go on, which begin anew, and why."""
