"""Returns the quota of admitted jobs that cannot start, and retries them later."""
