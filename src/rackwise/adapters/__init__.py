"""The world, one file or folder per neighbour; no decisions are made here."""
