"""Values in; HTML, charts and terminal tables out. Fetches and computes nothing."""
