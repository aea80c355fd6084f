"""Grafana dashboards of a stack."""
