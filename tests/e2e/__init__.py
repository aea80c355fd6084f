"""End-to-end tests: the dev stack on a cluster of their own."""
