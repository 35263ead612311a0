"""simtrack: calibrate, rehearse, score and publish evaluations of LLMs and agents, exact first."""
