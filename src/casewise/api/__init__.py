"""The Python API: all that the command line does, with objects and frames out. The command line imports nothing below it.

Names are loaded when they are used (`__init__.pyi` says where each one lives): judging does not wait for what power needs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
