"""The raw switchboard: frames between two ends, as bytes, with ids exchanged."""
