"""The whole corpus: one table for each kind of fabric."""

from tests.fabric.scenario import Scenario, known
from tests.fabric.table_bind import BIND
from tests.fabric.table_bind_devices import DEVICES
from tests.fabric.table_bind_parts import PARTS
from tests.fabric.table_compositions import COMPOSITIONS
from tests.fabric.table_connection_grants import CONNECTION_GRANTS
from tests.fabric.table_reach import REACH
from tests.fabric.table_zone_grants import ZONE_GRANTS

__all__ = ["SCENARIOS", "TABLES", "Scenario", "known"]

TABLES = (BIND, DEVICES, PARTS, COMPOSITIONS, ZONE_GRANTS, CONNECTION_GRANTS, REACH)
SCENARIOS: list[Scenario] = [row for table in TABLES for row in table.rows]
