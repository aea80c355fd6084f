"""Scorers: a Deployment that scores the records of a topic with a model server."""
