"""The generated traffic, in each format of flow files."""
