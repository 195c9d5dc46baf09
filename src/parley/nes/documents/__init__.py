"""Documents as an editor tells about them: texts, versions, positions in any encoding."""
