"""A module or package for each command, which `cli.registry` finds."""
