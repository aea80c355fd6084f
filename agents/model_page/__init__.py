"""The web page of a model server: shows a model's inputs and outputs, and asks the server for predictions."""
