"""The agent that ends or replaces the stack's pods on lost nodes."""
