"""What starts the runs of a pipeline."""
