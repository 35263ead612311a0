"""Special functions, roots, small dense algebra and quadrature: arrays in, arrays out."""
