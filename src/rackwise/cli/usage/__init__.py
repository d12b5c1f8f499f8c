"""How the command line is used: global options, help, completion in shells, signals."""
