"""Power and coverage: designs, agents and analyses put together."""
