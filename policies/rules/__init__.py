"""One module per rule; each ends with its `POLICIES`. They import nothing of the stack: they see what it registers."""
