"""KIP-36's wire formats.

Product code does not call them. They are the KIP's interface, so they are kept and tested.
"""
