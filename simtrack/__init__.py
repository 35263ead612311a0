"""simtrack: calibrate, rehearse, score and publish evaluations of LLMs and agents, exact first.

The names that are promised stand in `__init__.pyi`. Each is imported when it is first used, so that
`import simtrack` costs next to nothing.
"""

import lazy_loader as _lazy

from simtrack._version import __version__ as __version__

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
__all__ += ["__version__"]
