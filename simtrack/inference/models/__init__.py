"""Mixed models, estimating equations, penalised logits: coefficients with their errors."""
