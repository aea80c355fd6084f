"""What the embedded cluster has beyond the node that it runs on."""
