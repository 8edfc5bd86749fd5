"""``python -m riemtr``: the command line."""

import sys

from riemtr.cli import main

if __name__ == "__main__":
    sys.exit(main())
