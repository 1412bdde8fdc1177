"""Whom a client's certificate stands for, and when it stands for nobody."""

import pytest

from redfish_fm.redfish.client_certificates import (
    ClientCertificate,
    ClientCertificates,
    UserMapping,
)

NOW_S = 1_000.0
GOOD = ClientCertificate("tag", ("anne",), ("anne@example.org",), NOW_S - 1, NOW_S + 1)


def certificates(trust: str = "tag", mapping: UserMapping = UserMapping.COMMON_NAME):
    found = ClientCertificates(lambda: NOW_S)
    found.allow(trust, mapping)
    return found


@pytest.mark.parametrize(
    ("mapping", "user"),
    [(UserMapping.COMMON_NAME, "anne"), (UserMapping.USER_PRINCIPAL_NAME, "anne@example.org")],
)
def test_the_mapping_says_which_name_counts(mapping: UserMapping, user: str) -> None:
    assert certificates(mapping=mapping).user_of(GOOD) == user


def test_nobody_is_believed_before_anything_is_allowed() -> None:
    certificate = ClientCertificate("", ("anne",), (), 0, 2e9)
    assert ClientCertificates(lambda: NOW_S).user_of(certificate) is None


@pytest.mark.parametrize("trust", ["", "another"])
def test_what_was_checked_against_others_stands_for_nobody(trust: str) -> None:
    assert certificates(trust).user_of(GOOD) is None


@pytest.mark.parametrize(
    ("valid", "user"),
    [
        ((NOW_S, NOW_S + 1), "anne"),
        ((NOW_S + 1, NOW_S + 2), None),
        ((NOW_S - 2, NOW_S), None),
    ],
)
def test_it_counts_from_its_first_moment_to_before_its_last(
    valid: tuple[float, float], user: str | None
) -> None:
    certificate = ClientCertificate("tag", ("anne",), (), *valid)
    assert certificates().user_of(certificate) == user


@pytest.mark.parametrize("names", [(), ("anne", "admin"), ("anne", "anne")])
def test_one_that_does_not_name_one_user_names_none(names: tuple[str, ...]) -> None:
    certificate = ClientCertificate("tag", names, (), NOW_S - 1, NOW_S + 1)
    assert certificates().user_of(certificate) is None
