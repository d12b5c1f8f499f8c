"""Preferred leaders for given replica sets, with as few changes as fair counts allow."""
