"""Totals or plain arrays in, frozen results out: one district a kind of question.

`numerics` below; `rates`, `differences`, `exact`, `resampling`, `models`, `bayes`, `sequential` and
`agreement` above it. The names that are promised stand in `__init__.pyi`; each is imported when it
is first used, so that a command that needs one method does not load all.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
