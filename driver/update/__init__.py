"""One update of a stack: `pulumi up`, what decides whether it may run, and what it does to data and runs."""
