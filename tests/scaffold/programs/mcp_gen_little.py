"""The command line with a fast generator: packages of few files."""

import sys
from types import ModuleType

from mcp_protogen.cli import main
from mcp_protogen.pipeline.output import trial
from support.generating import generate_little, trying_nothing

generator = ModuleType("mcp_protogen.pipeline.generate")
generator.generate = generate_little
sys.modules[generator.__name__] = generator
trial.try_package = trying_nothing

main()
