"""The commands of an operator: assign, retire, clean up, and the table of all ids."""
