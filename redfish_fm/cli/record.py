"""`redfish-fm mockup record`: flags to a walk, its report to words."""

import asyncio
import json
import os
import signal
import ssl
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from redfish_fm.cli.output import (
    Failure,
    Misuse,
    json_option,
    print_json,
    print_table,
    progress_bar,
)
from redfish_fm.client.links import ROOT
from redfish_fm.client.mockup_folder import FolderError, MockupFolder
from redfish_fm.client.recorder import Progress, Recorder, Report, Wishes
from redfish_fm.client.service import Login, Service, ServiceError, origin_of

_PEM = "a service's own authority is STATE/tls/ca.pem; openssl x509 -in FILE shows what is there"
PASSWORD_ENV = "REDFISH_PASSWORD"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, slots=True)
class _Order:
    """What was asked for, checked."""

    url: str
    folder: Path
    login: Login | None
    tls: ssl.SSLContext | None
    wishes: Wishes
    replace: bool


@click.command()
@click.argument("url", metavar="URL")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--user", metavar="NAME", envvar="REDFISH_USER", help="Who logs in; else nobody.")
@click.option("--password-stdin", is_flag=True, help="Read the password from stdin, one line.")
@click.option("--basic", is_flag=True, help="Log in with every request instead of by a session.")
@click.option(
    "--cafile",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="PEM certificates to trust instead of this machine's.",
)
@click.option("--insecure", is_flag=True, help="Believe any certificate.")
@click.option("--headers", is_flag=True, help="Record response headers too (headers.json).")
@click.option("--schemas", is_flag=True, help="Record the files of schemas and registries too.")
@click.option(
    "--parallel",
    metavar="N",
    type=click.IntRange(1, 64),
    default=4,
    help="Requests under way at once (default 4).",
)
@click.option("--force", is_flag=True, help="Replace DIR where it is a mockup already.")
@json_option
def record(
    url: str,
    folder: Path,
    user: str | None,
    password_stdin: bool,
    basic: bool,
    cafile: Path | None,
    insecure: bool,
    headers: bool,
    schemas: bool,
    parallel: int,
    force: bool,
    as_json: bool,
) -> None:
    """Record a Redfish service as a mockup (DSP2043).

    Follows every link from /redfish/v1, asks for each resource once, and waits when the service
    says 429 or 503. DIR appears when all is written, or not at all. Sessions, tasks, accounts
    and subscriptions are not recorded, nor what is of one moment (ETags, clocks); secrets are
    null. The password is read from stdin or from REDFISH_PASSWORD, never from a flag.

    Exit codes: 0 all is recorded; 1 not recorded (after Ctrl-C too), or something is missing,
    which is listed; 2 wrong usage.

    \b
    Examples:
      redfish-fm mockup record --cafile STATE/tls/ca.pem --user admin https://localhost:8443 rack
      pass bmc | redfish-fm mockup record --user root --password-stdin https://bmc.example rack
      redfish-fm mockup record --insecure --json https://bmc.example rack | jq .failures
    """
    if cafile is not None and insecure:
        raise Misuse("--cafile and --insecure exclude each other")
    login = _login(user, password_stdin, basic)
    try:
        origin_of(url)
    except ServiceError as error:
        raise Misuse(str(error)) from error
    wishes = Wishes(headers, schemas, parallel)
    order = _Order(url, folder, login, _tls(url, cafile, insecure), wishes, force)
    report = _run(order)
    _tell(order, report, as_json)
    sys.exit(1 if report.failures else 0)


def _login(user: str | None, password_stdin: bool, basic: bool) -> Login | None:
    if user is None:
        if password_stdin or basic:
            raise Misuse("a password without --user NAME")
        return None
    password = _line() if password_stdin else os.environ.get(PASSWORD_ENV, "")
    if not password:
        raise Misuse("there is no password", f"set {PASSWORD_ENV}, or give --password-stdin")
    return Login(user, password, basic)


def _line() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _tls(url: str, cafile: Path | None, insecure: bool) -> ssl.SSLContext | None:
    """Return the context for `url`; None for http. Raises Failure where the file is none."""
    if not url.startswith("https:"):
        if cafile is not None or insecure:
            raise Misuse("--cafile and --insecure are about https, and the URL is http")
        return None
    try:
        context = ssl.create_default_context(cafile=cafile)
    except (ssl.SSLError, OSError) as error:
        raise Failure(f"{cafile} has no certificate in PEM form", _PEM) from error
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _run(order: _Order) -> Report:
    try:
        with progress_bar("recording") as told:
            return asyncio.run(_record(order, told or _silent))
    except FolderError as error:
        hint = "choose another folder, or give --force to replace a mockup"
        raise Failure(str(error), hint) from error
    except ServiceError as error:
        raise Failure(f"{order.url}: {error}", _hint(str(error), order)) from error
    except asyncio.CancelledError as error:
        raise Failure("ended by a signal; nothing is recorded") from error


def _hint(problem: str, order: _Order) -> str:
    if "certificate" in problem.lower():
        return "give the authority's certificate with --cafile, or --insecure"
    if "login was refused" in problem:
        return f"check --user and the password ({PASSWORD_ENV} or --password-stdin)"
    if "answered 401" in problem and order.login is None:
        return "this service wants a login: give --user NAME"
    return "curl the URL with /redfish/v1/ behind it to see what is there"


async def _record(order: _Order, progress: Progress) -> Report:
    """Return the report of a walk whose mockup is in its place. Raises what _run() explains."""
    task = asyncio.current_task()
    if task is not None:
        # What a SIGTERM interrupts is undone as after Ctrl-C: no half folder, no session left.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    parallel = order.wishes.parallel
    with MockupFolder(order.folder, order.replace) as folder:
        async with Service.opened(order.url, order.tls, parallel) as service:
            sessions = await _sessions_uri(service)
            if order.login is not None:
                await service.log_in(order.login, sessions)
            report = await Recorder(service, folder, order.wishes, progress).run()
        if ROOT in report.failures:
            raise ServiceError(f"{ROOT} {report.failures[ROOT]}")
        folder.finish()
    return report


async def _sessions_uri(service: Service) -> str:
    """Return where sessions are made, as the root says; it is open to everybody (DSP0266)."""
    answer = await service.get(f"{ROOT}/")
    if answer.status != 200:
        raise ServiceError(f"{ROOT}/ answered {answer.status}")
    try:
        uri = json.loads(answer.body)["Links"]["Sessions"]["@odata.id"]
    except (ValueError, KeyError, TypeError):
        uri = None
    return uri if isinstance(uri, str) else f"{ROOT}/SessionService/Sessions"


def _tell(order: _Order, report: Report, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "service": order.url,
                "folder": str(order.folder),
                "resources": report.resources,
                "files": report.files,
                "waits": report.waits,
                "links_elsewhere": report.elsewhere,
                "left_out": dict(report.left_out),
                "failures": [
                    {"uri": uri, "problem": text} for uri, text in sorted(report.failures.items())
                ],
            }
        )
        return
    if report.failures:
        print_table(("uri", "problem"), sorted(report.failures.items()))
    told = [f"{report.resources} resources in {report.files} files"]
    told += [f"left out {count} of {name}" for name, count in sorted(report.left_out.items())]
    if report.elsewhere:
        told.append(f"{report.elsewhere} links out of the service not followed")
    if report.waits:
        told.append(f"waited {report.waits} times")
    told.append(f"{len(report.failures)} failures")
    click.echo(f"{order.folder}: {', '.join(told)}", err=True)


def _silent(done: int, total: int) -> None:
    """Show no progress."""
