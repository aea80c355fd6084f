"""Keras 3's `fit` on several replicas: the repair, batches and steps for all of them, exact resume, the self-check."""
