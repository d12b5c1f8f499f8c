"""What a run tells: the summary document, and the CSV files beside it."""
