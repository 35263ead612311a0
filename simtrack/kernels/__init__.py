"""Loops over arrays, compiled by `simtrack._jit`: arrays in, arrays out, no checks."""
