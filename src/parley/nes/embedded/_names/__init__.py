"""Which name means what in a file, by its syntax tree."""
