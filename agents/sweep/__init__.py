"""Runs the trials of a sweep: asks Optuna for parameters, creates JobSets, reads their reports, stops what is worse."""
