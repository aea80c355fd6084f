"""How clients outside of the stack reach a model server, and which clients inside do."""
