"""``python -m hyphc`` is the command ``hyphc``."""

from .cli import main

raise SystemExit(main())
