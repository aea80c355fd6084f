"""Manifests of workloads: plain data in, plain data out, without Pulumi and without a cluster."""
