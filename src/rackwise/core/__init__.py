"""The pure room: values in, values out; no clock, no files, no network."""
