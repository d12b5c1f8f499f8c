"""What an operator does by hand: assign, retire, collect garbage."""
