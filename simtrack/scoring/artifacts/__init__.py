"""Code that a reply carries: what it declares, what it obeys, what it cites."""
