"""How the command line speaks: tables or JSON on stdout, one line and a hint on stderr."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


class Failure(click.ClickException):
    """What the command was asked for did not work: exit code 1."""

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def show(self, file: IO[Any] | None = None) -> None:
        """Write "redfish-fm: …", one line for each problem, and a hint to stderr."""
        for line in self.message.splitlines():
            click.echo(f"redfish-fm: {line}", file=file, err=file is None)
        if self.hint:
            click.echo(f"hint: {self.hint}", file=file, err=file is None)


class Misuse(Failure):
    """The flags, environment or file can not be meant like that: exit code 2."""

    exit_code = 2


def print_json(value: object) -> None:
    """Write one JSON document, indented, with sorted keys so that two answers compare."""
    click.echo(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False))


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write rows under headers: a table for eyes, tab-separated lines for a pipe."""
    if not sys.stdout.isatty():
        for row in (headers, *rows):
            click.echo("\t".join(row))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False, emoji=False).print(table)


@contextmanager
def progress_bar(
    verb: str, *, ends_full: bool = False
) -> Iterator[Callable[[int, int], None] | None]:
    """Give what shows (done, total) as a bar on stderr; None where nobody would see it.

    The bar is there from the first number on, until the end or, with `ends_full`, until all is
    done: what runs on then has the terminal for itself.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(verb, total=None)

    def told(done: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)
        if ends_full and done >= total:
            bar.stop()

    try:
        yield told
    finally:
        bar.stop()
