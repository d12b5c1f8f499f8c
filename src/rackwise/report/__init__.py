"""Renders values as HTML, charts and terminal tables. Fetches and computes nothing."""
