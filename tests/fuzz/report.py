"""What a run has seen, and the table of it."""

from collections import Counter
from dataclasses import dataclass, field

from tests.fuzz.plan import Case


@dataclass
class Report:
    """What a run has seen."""

    seed: int
    requests: int = 0
    existing: int = 0
    """Requests with good credentials for what is there."""
    succeeded: int = 0
    refused_writes: int = 0
    compared: int = 0
    """Refused writes after which all that clients wrote was compared."""
    compared_fully: int = 0
    """Refused writes after which the tags of everything were compared."""
    statuses: Counter[int] = field(default_factory=Counter)
    table: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    """(method, template) -> how often sent, 2xx, 4xx, other."""
    writable: set[tuple[str, str]] = field(default_factory=set)
    told: set[tuple[str, str]] = field(default_factory=set)
    """(method, template) of every write that the OpenAPI document has."""
    streams: int = 0
    """Event streams that were read."""
    delivered: int = 0
    """Requests with events that receivers have taken."""
    problems: list[str] = field(default_factory=list)

    def note(self, case: Case, status: int) -> None:
        """Count one answered case."""
        self.requests += 1
        self.statuses[status] += 1
        self.succeeded += 200 <= status < 300
        if case.template and case.user not in (None, "stranger"):
            self.existing += 1
        if case.template:
            row = self.table.setdefault((case.method, case.template), Counter())
            row["sent"] += 1
            row[f"{status // 100}xx"] += 1

    def lines(self) -> list[str]:
        """Return the report as text, the table of writes last."""
        share = 100 / max(1, self.requests)
        found = [
            f"seed {self.seed}: {self.requests} requests,"
            f" {self.existing * share:.1f} % authenticated on existing routes,"
            f" {self.succeeded * share:.1f} % succeeded",
            f"refused writes {self.refused_writes}, compared {self.compared},"
            f" all tags compared {self.compared_fully}",
            f"writes of OpenAPI that nothing took: {sorted(self.told - self.writable)}",
            f"event streams {self.streams}, deliveries of events {self.delivered}",
            "statuses " + ", ".join(f"{each}: {n}" for each, n in sorted(self.statuses.items())),
            "  sent   2xx   4xx other  write",
        ]
        for method, template in sorted(self.writable, key=lambda each: (each[1], each[0])):
            row = self.table.get((method, template), Counter())
            other = row["sent"] - row["2xx"] - row["4xx"]
            found.append(
                f"{row['sent']:6} {row['2xx']:5} {row['4xx']:5} {other:5}  {method} {template}"
            )
        return found
