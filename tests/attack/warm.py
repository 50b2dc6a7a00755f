"""What every command of `forged` needs: the server of commands imports it once."""

import pandas

from shallows.base.version import version

WARM = (pandas.__name__, version())
