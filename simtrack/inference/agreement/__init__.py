"""How far raters, rankings or a signal and an outcome agree."""
