"""Runs of training jobs, as the cluster and their logs show them: JobSet, progress, failures, what they published."""
