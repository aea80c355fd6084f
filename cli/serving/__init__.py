"""Deployed model servers: their models, requests to them, and their traffic."""
