"""`python -m rackwise.cli` equals `rackwise`."""

from rackwise.cli import main

main()
