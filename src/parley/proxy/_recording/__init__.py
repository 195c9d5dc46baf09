"""A recorded conversation that is played again in the place of an agent."""
