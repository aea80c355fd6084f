"""Controllers that a stack installs if it uses them: one file each, discovered automatically."""
