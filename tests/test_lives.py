"""What goes on from one life of the service to the next."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from redfish_fm.config import Config, ConfigError
from redfish_fm.lives import Kept, read_again


@pytest.fixture
def kept() -> Iterator[Kept]:
    with contextlib.ExitStack() as stack:
        yield Kept(stack)


def connects(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(5)
        return client.connect_ex(("127.0.0.1", port)) == 0


CONFIG = Config(topology="two-hosts", port=0, ephemeral=True)


async def test_the_next_life_has_the_same_port_and_who_connects_between_waits(kept: Kept) -> None:
    first = await kept.bound(CONFIG)
    first.claim()
    first.close()
    assert connects(first.port)
    second = await kept.bound(CONFIG)
    assert second.port == first.port
    second.close()


async def test_a_port_that_is_let_go_refuses(kept: Kept) -> None:
    bound = await kept.bound(CONFIG)
    bound.claim()
    kept.let_go()
    assert connects(bound.port)
    bound.close()
    assert not connects(bound.port)
    kept.let_go()


async def test_another_place_in_the_configuration_is_bound_anew(kept: Kept) -> None:
    first = await kept.bound(CONFIG)
    first.claim()
    first.close()
    second = await kept.bound(Config(topology="two-hosts", port=0, http=True))
    assert not connects(first.port)
    second.close()


def test_an_ephemeral_service_keeps_its_folder_and_what_it_wrote(kept: Kept) -> None:
    folder = kept.folder(CONFIG)
    assert folder.is_dir()
    assert kept.folder(CONFIG) == folder
    assert kept.durable(CONFIG) is kept.durable(CONFIG)
    assert kept.durable(CONFIG) is not kept.durable(Config(topology="mixed"))


def test_the_folder_goes_with_the_process(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        folder = Kept(stack).folder(CONFIG)
    assert not folder.exists()
    with contextlib.ExitStack() as stack:
        assert Kept(stack).folder(Config(topology="two-hosts", state=tmp_path)) == tmp_path
    assert tmp_path.exists()


def test_the_configuration_is_read_again_or_stays_as_it_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    newer = Config(topology="mixed")

    def broken() -> Config:
        raise ConfigError(("page_size: must be an integer",))

    assert read_again(CONFIG, lambda: newer) is newer
    assert read_again(CONFIG, None) is CONFIG
    assert read_again(CONFIG, broken) is CONFIG
    assert "page_size" in caplog.text
