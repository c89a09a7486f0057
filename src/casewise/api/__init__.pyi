from casewise import *  # noqa: F403

from . import attacks as attacks
from . import deciding as deciding
from . import evaluating as evaluating
from . import exporting as exporting
from . import judging as judging
from . import prolific as prolific
from . import replying as replying
from . import studies as studies
