"""Manifests of workloads as plain data, without Pulumi and without a cluster."""
