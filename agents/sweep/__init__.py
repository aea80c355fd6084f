"""Runs the trials of a sweep: asks Optuna for parameters, creates JobSets, reads their reports, and prunes bad trials.

It watches the JobSets of the trials and their logs on the volume. It creates and deletes JobSets, and publishes the
results in the ConfigMap RUN-results. Its state is Optuna's journal on the volume, which one controller writes at a
time: a new one takes it over from the former one. A crash leaves actions that were not done: the next reconcile finds
out from journal, JobSets and logs which these are.
"""
