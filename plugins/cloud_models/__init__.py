"""What the clouds publish about values for their own clients: enumerations, lengths, patterns, minimum and maximum."""
