"""What the rules see of a stack: its resources as plain values, its pods, its node groups, and how a rule is made."""
