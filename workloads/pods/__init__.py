"""What pods of several kinds of workloads have."""
