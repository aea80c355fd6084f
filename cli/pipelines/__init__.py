"""Runs of pipelines, as Argo's Workflows tell of them."""
