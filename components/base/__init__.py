"""What every room uses and what imports none of them: models of settings, faults, labels, quantities."""
