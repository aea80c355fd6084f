"""Pachyderm's pipeline specs from and to pipelines."""
