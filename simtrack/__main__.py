"""`python -m simtrack` is the command line."""

from simtrack.cli.main import run

run()
