"""casewise: does a judge decide in context, as people do, whether a chatbot should answer?

    >>> import casewise
    >>> run = casewise.judge("demo", "linear")
    >>> report = casewise.report(run)

Names are loaded when they are used (`__init__.pyi` says where each one lives), so that importing casewise costs next to nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
