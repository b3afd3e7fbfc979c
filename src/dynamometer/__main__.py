"""`python -m dynamometer`."""

import sys

from dynamometer.cli import main

sys.exit(main())
