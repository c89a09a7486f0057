"""Statistics on arrays: intervals, differences, agreement, calibration, power and tests. Each says its formula, its source and its R reference.

Names are loaded when they are used (`__init__.pyi` says where each one lives): an interval for a share does not wait for the rest.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
