"""The triggers of one pipeline: looks at the logs of its datasets, and starts runs."""
