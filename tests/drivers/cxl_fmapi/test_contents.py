"""What one manager may believe of what is in an LD."""

from redfish_fm.drivers.cxl_fmapi.contents import Contents
from redfish_fm.fabric.model import Media

LD, OTHER, ELSEWHERE = (2, 0), (2, 1), (3, 0)


def cleaned(*places: tuple[int, int]) -> Contents:
    contents = Contents()
    for place in places:
        contents.begun(place)
        contents.ended(place, clean=True)
    contents.looked()
    return contents


def test_what_nobody_has_seen_sanitized_is_dirty() -> None:
    assert Contents().media(LD) is Media.DIRTY


def test_an_ld_is_clean_once_its_sanitizing_has_ended_well() -> None:
    contents = Contents()
    contents.begun(LD)
    assert (contents.media(LD), contents.running) == (Media.SANITIZING, (LD,))
    contents.ended(LD, clean=True)
    assert (contents.media(LD), contents.running) == (Media.CLEAN, ())
    assert contents.media(OTHER) is Media.DIRTY


def test_sanitizing_that_failed_cleans_nothing() -> None:
    contents = Contents()
    contents.begun(LD)
    contents.ended(LD, clean=False)
    assert contents.media(LD) is Media.DIRTY


def test_a_clean_ld_is_dirty_once_somebody_was_bound() -> None:
    contents = cleaned(LD, OTHER)
    contents.soiled(LD)
    assert (contents.media(LD), contents.media(OTHER)) == (Media.DIRTY, Media.CLEAN)


def test_who_is_bound_while_it_is_sanitized_makes_it_worth_nothing() -> None:
    contents = Contents()
    contents.begun(LD)
    contents.soiled(LD)
    contents.ended(LD, clean=True)
    assert contents.media(LD) is Media.DIRTY


def test_sanitizing_anew_is_not_clean_before_it_ends() -> None:
    contents = cleaned(LD)
    contents.begun(LD)
    assert contents.media(LD) is Media.SANITIZING


def test_what_is_forgotten_of_a_port_is_not_forgotten_of_others() -> None:
    contents = cleaned(LD, OTHER, ELSEWHERE)
    contents.begun(OTHER)
    contents.forget(2)
    assert [contents.media(each) for each in (LD, OTHER)] == [Media.DIRTY, Media.DIRTY]
    assert contents.media(ELSEWHERE) is Media.CLEAN
    contents.forget()
    assert contents.media(ELSEWHERE) is Media.DIRTY


def test_only_what_differs_is_a_change() -> None:
    contents = cleaned(LD)
    assert not contents.changed
    contents.soiled(OTHER)
    contents.ended(OTHER, clean=True)
    contents.forget(5)
    assert not contents.changed
    contents.soiled(LD)
    assert contents.changed
