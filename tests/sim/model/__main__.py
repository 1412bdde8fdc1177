"""Print what the exhaustive model finds: `python -m tests.sim.model`."""

from tests.sim.model.explore import explore
from tests.sim.model.mutants import MUTANTS
from tests.sim.model.protocol import Protocol

VARIANTS: tuple[type[Protocol], ...] = (Protocol, *MUTANTS)

for variant in VARIANTS:
    print(explore(variant()).summary(variant()))
