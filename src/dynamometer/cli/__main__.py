"""`python -m dynamometer.cli`."""

import sys

from dynamometer.cli import main

sys.exit(main())
