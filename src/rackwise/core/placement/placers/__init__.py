"""The built-in placers: KIP-36, striped, ring, levels."""
