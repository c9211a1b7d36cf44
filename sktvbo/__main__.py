"""``python -m sktvbo`` is the command ``sktvbo``."""

import sys

from ._cli import main

if __name__ == "__main__":
    sys.exit(main())
