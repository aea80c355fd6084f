"""The web page of a model server: shows a model's inputs and outputs, and asks the server for predictions.

It serves one HTML page and its settings, and forwards requests below /v1/models/ to the model server. It watches and
changes nothing, and has neither state nor a token. A crash ends requests in flight; the server itself goes on.
"""
