"""Build lua/dist/ and lua/manifest.json from the sources: `python lua/bundle.py [--check] [--lua DIR]`."""

import runpy
import sys
from pathlib import Path

TOOLS = Path(__file__).parent / "tools"
sys.path.insert(0, str(TOOLS))
runpy.run_path(str(TOOLS / "bundle.py"), run_name="__main__")
