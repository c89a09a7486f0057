"""What a judge is shown of an item: an arm's transforms, done in turn.

Names are loaded when they are used (`__init__.pyi` says where each one lives): reading a run does not wait for what attacks need.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
