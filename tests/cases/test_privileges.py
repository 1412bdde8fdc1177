"""The privilege matrix: role x route x method, as the map has it, asked of the service.

Every type of the schemas stands in a made-up tree, at every place that can matter; what decides
whether the answer may be 403 is tests.cases.privilege_oracle, never redfish/privileges.py.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.roles import ROLES as ROLES_URI
from redfish_fm.redfish.roles import Roles
from redfish_fm.redfish.view import Origin
from tests.cases.life import account_body
from tests.cases.privilege_oracle import READING, ROLES, bare, entities, may, needed, templates
from tests.cases.stack import CUSTOM_ROLES, USERS, a_stack
from tests.redfish.builders import CATALOG, Bench, keys
from tests.redfish.builders import PRIVILEGES as MAP
from tests.redfish.house import ACCOUNTS, FIRST, PASSWORD, SESSIONS
from tests.virtual_time import in_virtual_time

PRIVILEGES = {name: words.split() for name, words in ROLES.items()} | {
    name: list(privileges) for name, privileges in CUSTOM_ROLES.items()
}
WRITES = ("POST", "PATCH", "DELETE")
PUBLIC = frozenset({"/redfish/v1"})
NEVER = '"never"'


def placed() -> Iterator[tuple[str, str]]:
    """Yield (type, template): one place of each type, every place of those with overrides."""
    for name, uris in templates().items():
        overridden = "SubordinateOverrides" in entities().get(name, {})
        yield from ((name, uri) for uri in (uris if overridden else uris[:2]))


def a_bench(**further: Any) -> Bench:
    """Return a service in which every role has a user of its name."""
    roles = Roles(CATALOG.roles)
    for name, privileges in CUSTOM_ROLES.items():
        document = json.dumps({"AssignedPrivileges": privileges}).encode()
        roles.apply([Edit(Space.DOCUMENT, f"{ROLES_URI}/{name}", None, document)])
    bench = Bench(roles=roles, **further)
    for name in PRIVILEGES:
        bench.add_user(name, name)
    return bench


async def answered(bench: Bench, tokens: dict[str, str], user: str, method: str, uri: str) -> int:
    """Ask for something that fails for another reason where the privileges are enough."""
    headers = {"x_auth_token": tokens[user], **_unless_read(method)}
    return (await bench.send(method, uri, user=None, **headers)).status


def _unless_read(method: str) -> dict[str, str]:
    """Return the condition that lets no write through."""
    return {} if method in READING else {"if_match": NEVER}


def expected(user: str, type_name: str, method: str, template: str, own: bool = False) -> set[int]:
    if not may(PRIVILEGES[user], type_name, method, template, own=own):
        return {403}
    return {200, 204} if method in READING else {412}


async def test_every_type_at_every_place_for_every_role() -> None:
    bench = a_bench()
    tokens = {user: await bench.token(user) for user in PRIVILEGES}
    tokens["admin"] = await bench.token("admin")
    asked: Counter[tuple[str, bool]] = Counter()
    for type_name, template in placed():
        uri = bare(template).replace("{}", "x")
        if uri in PUBLIC or type_name.startswith("Session") or uri in bench.view.documents:
            continue
        bench.view.put(uri, type_name, Origin.WANTED)
        options = await bench.send("OPTIONS", uri, user=None, x_auth_token=tokens["admin"])
        for method in options.headers["Allow"].split(", "):
            for user in PRIVILEGES:
                status = await answered(bench, tokens, user, method, uri)
                wanted = expected(user, type_name, method, template)
                assert status in wanted, (user, method, template, type_name)
                asked[method, status == 403] += 1
        del bench.view.documents[uri]
    assert set(asked) == {
        (method, refused) for method in (*READING, *WRITES) for refused in (True, False)
    }
    assert asked.total() > 10_000


def test_the_map_decides_alike_also_where_no_method_leads_yet() -> None:
    """Of most types nothing can be changed yet, so that 405 hides what the map would say."""
    compared = 0
    for type_name, uris in templates().items():
        for template in uris:
            uri = bare(template).replace("{}", "x")
            above = CATALOG.ancestors(uri)
            for method in (*READING, *WRITES, "PUT"):
                for user, held in PRIVILEGES.items():
                    decided = MAP.allows(
                        type_name, method, frozenset(held), ancestors=above, uri=uri
                    )
                    assert decided == may(held, type_name, method, template), (user, uri, method)
                    compared += 1
    assert compared > 50_000


def test_the_oracle_covers_the_whole_map_and_its_overrides() -> None:
    assert len(entities()) > 250
    rows = {
        (name, tuple(row["Targets"]))
        for name, entity in entities().items()
        for row in entity.get("SubordinateOverrides", ())
    }
    used = set()
    for name, template in placed():
        entity = entities().get(name, {})
        for row in entity.get("SubordinateOverrides", ()):
            changed = {
                method
                for method, alternatives in row["OperationMap"].items()
                if needed(name, method, template) == alternatives != entity["OperationMap"][method]
            }
            if changed:
                used.add((name, tuple(row["Targets"])))
    # No schema places a log service of a manager or a chassis elsewhere than the row says.
    assert {name for name, _ in rows} == {name for name, _ in used}
    assert len(used) >= 12, rows - used


async def test_what_an_override_gives_reaches_the_answer() -> None:
    """The one read that an override opens: certificates of a system, for who keeps components."""
    bench = a_bench()
    place = "/redfish/v1/Systems/x/Boot/Certificates/y"
    other = "/redfish/v1/Managers/x/NetworkProtocol/HTTPS/Certificates/y"
    for uri in (place, other):
        bench.view.put(uri, "Certificate", Origin.INVENTORY)
    for user, statuses in {
        "Builder": (200, 403),
        "Operator": (200, 403),
        "Keeper": (403, 200),
        "ReadOnly": (403, 403),
        "Administrator": (200, 200),
    }.items():
        found = [(await bench.send("GET", uri, user=user)).status for uri in (place, other)]
        assert tuple(found) == statuses, user


@pytest.mark.parametrize("action", ["CompositionService.Compose", "Zone.AddEndpoint"])
async def test_an_action_needs_what_a_post_on_its_resource_needs(action: str) -> None:
    bench = a_bench()
    type_name = action.partition(".")[0]
    (template, *_rest) = templates()[type_name]
    uri = bare(template).replace("{}", "x")
    bench.view.put(uri, type_name, Origin.WANTED)
    tokens = {user: await bench.token(user) for user in PRIVILEGES}
    for user in PRIVILEGES:
        status = await answered(bench, tokens, user, "POST", f"{uri}/Actions/{action}")
        assert (status == 403) == (not may(PRIVILEGES[user], type_name, "POST", template)), user


@pytest.mark.parametrize("type_name", ["Task", "CompositionReservation"])
async def test_what_a_user_owns_it_may_give_back(type_name: str) -> None:
    (template, *_rest) = templates()[type_name]
    uri = bare(template).replace("{}", "x")
    for owner in PRIVILEGES:
        bench = a_bench(owner=lambda _uri, owner=owner: owner)
        bench.view.put(uri, type_name, Origin.WANTED)
        tokens = {user: await bench.token(user) for user in PRIVILEGES}
        allow = (await bench.send("OPTIONS", uri)).headers["Allow"].split(", ")
        for user in PRIVILEGES:
            for method in allow:
                status = await answered(bench, tokens, user, method, uri)
                wanted = expected(user, type_name, method, template, own=user == owner)
                assert status in wanted, (owner, user, method)
        assert "DELETE" in allow or type_name == "CompositionReservation"


@in_virtual_time
async def test_sessions_are_read_and_ended_by_their_user_and_by_managers() -> None:
    (template, *_rest) = templates()["Session"]
    async with a_stack() as stack:
        mine = {}
        for user in USERS:
            _, row = await stack.identity.sessions.create(user, "192.0.2.1")
            mine[user] = f"{SESSIONS}/{row.id}"
        for user, (role, due) in USERS.items():
            for owner, uri in mine.items():
                for method in ("GET", "HEAD", "OPTIONS", "DELETE"):
                    response = await stack.ask(method, uri, user=user, **_unless_read(method))
                    own = owner == user
                    wanted = expected(role, "Session", method, template, own=own)
                    assert response.status in ({403} if due else wanted), (user, owner, method)
        assert (await stack.ask("DELETE", mine["ro"], user="ro")).status == 204
        assert (await stack.ask("DELETE", mine["op"], user="keeper")).status == 204


@in_virtual_time
async def test_accounts_are_read_by_their_user_and_written_by_personnel() -> None:
    (template, *_rest) = templates()["ManagerAccount"]
    async with a_stack() as stack:
        for user, (role, due) in USERS.items():
            if due:
                continue
            for owner in USERS:
                uri = f"{ACCOUNTS}/{owner}"
                for method in ("GET", "HEAD", "OPTIONS", "DELETE"):
                    response = await stack.ask(method, uri, user=user, **_unless_read(method))
                    wanted = expected(role, "ManagerAccount", method, template, owner == user)
                    assert response.status in wanted, (user, owner, method)


@in_virtual_time
async def test_of_an_account_only_ones_own_password_is_ones_own() -> None:
    """The property override Password: ConfigureUsers for all, ConfigureSelf for one's own."""
    async with a_stack() as stack:
        for user, (role, due) in USERS.items():
            for owner in ("ro", "op", "keeper", "nothing"):
                uri = f"{ACCOUNTS}/{owner}"
                own = owner == user and "ConfigureSelf" in PRIVILEGES[role]
                users = "ConfigureUsers" in PRIVILEGES[role] and not due
                for body, allowed in (
                    ({"Password": "x"}, own or users),
                    ({"Description": 1}, users),
                    ({"RoleId": 1}, users),
                    ({"RoleId": 1, "Password": "x"}, users),
                    ({"Enabled": 1}, users),
                ):
                    response = await stack.ask("PATCH", uri, body, user=user)
                    # Too short or of a wrong type: 400 is what a permitted request gets.
                    wanted = 400 if allowed else 403
                    assert response.status == wanted, (user, owner, body, response.body)


@pytest.mark.parametrize(
    "body", [{"RoleId": "Administrator"}, {"Enabled": True}, {"Name": "x", "Password": FIRST}]
)
@in_virtual_time
async def test_a_right_body_for_ones_own_account_still_needs_configure_users(body: Any) -> None:
    async with a_stack() as stack:
        before = stack.tags()
        response = await stack.ask("PATCH", f"{ACCOUNTS}/ro", body, user="ro")
        assert (response.status, keys(response)) == (403, ["InsufficientPrivilege"])
        assert stack.tags() == before
        assert (await stack.login("ro", PASSWORD)).status == 201


@in_virtual_time
async def test_ones_own_password_can_be_changed_with_configure_self() -> None:
    async with a_stack() as stack:
        body = {"Password": "another-password"}
        assert (await stack.ask("PATCH", f"{ACCOUNTS}/ro", body, user="ro")).status == 200
        assert (await stack.login("ro", "another-password")).status == 201
        assert (await stack.ask("PATCH", f"{ACCOUNTS}/op", body, user="ro")).status == 403
        assert (await stack.ask("PATCH", f"{ACCOUNTS}/reader", body, user="reader")).status == 403


@in_virtual_time
async def test_privileges_of_a_custom_role_count_from_the_next_request_on() -> None:
    async with a_stack() as stack:
        role = f"{ROLES_URI}/Reader"
        uri = f"{ACCOUNTS}/op"
        assert (await stack.ask("GET", uri, user="reader")).status == 403
        more = {"AssignedPrivileges": ["Login", "ConfigureUsers"]}
        assert (await stack.ask("PATCH", role, more)).status == 200
        assert (await stack.ask("GET", uri, user="reader")).status == 200
        assert (await stack.ask("POST", ACCOUNTS, account_body(), user="reader")).status == 201
        less = {"AssignedPrivileges": ["ConfigureSelf"]}
        assert (await stack.ask("PATCH", role, less)).status == 200
        for path in (uri, "/redfish/v1/Systems", "/redfish/v1/Fabrics/PCIe"):
            assert (await stack.ask("GET", path, user="reader")).status == 403


@in_virtual_time
async def test_the_published_map_is_the_oracles_map_with_our_additions() -> None:
    async with a_stack() as stack:
        service = await stack.get("/redfish/v1/AccountService")
        shown = await stack.get(service["PrivilegeMap"]["@odata.id"])
        rows = {row["Entity"]: row["OperationMap"] for row in shown["Mappings"]}
        assert set(entities()) <= set(rows)
        for name, operations in rows.items():
            for method in ("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"):
                told = [each["Privilege"] for each in operations[method]]
                assert sorted(told) == sorted(needed(name, method, "")), (name, method)
