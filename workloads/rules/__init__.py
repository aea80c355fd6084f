"""Rules between workloads, and those that several kinds have."""
