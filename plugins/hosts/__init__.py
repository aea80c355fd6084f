"""Makes the plain `pulumi` command work in this project: language host, launchers, shell."""
