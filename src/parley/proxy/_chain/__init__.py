"""The conductor, and the chain of components that it starts and wires."""
