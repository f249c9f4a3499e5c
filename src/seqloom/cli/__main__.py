"""`python -m seqloom.cli` is `seqloom`."""

import sys

from seqloom.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
