"""Notebooks: JupyterLab in a queue, which runs from `tensorplane notebook NAME` until nobody uses it."""
