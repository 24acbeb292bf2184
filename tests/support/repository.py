"""Where the repository is, for tests that read its files."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
