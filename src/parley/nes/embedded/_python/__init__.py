"""Knowledge of Python: import statements, where names are imported from, the style of a project."""
