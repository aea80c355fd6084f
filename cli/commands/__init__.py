"""One module or package a command; `cli.registry` finds them. See `cli.command.Command`."""
