"""The broker of this host: its configuration, log dirs and process."""
