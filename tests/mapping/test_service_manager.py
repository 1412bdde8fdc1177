"""The manager that the service is, beside a topology and beside an import."""

from dataclasses import replace
from typing import Any

from redfish_fm.mapping.service_manager import AboutService, OwnUris, add_service
from redfish_fm.mapping.uris import FABRIC_MANAGER, MANAGER_COLLECTION
from tests.redfish.builders import CATALOG

UUID = "11111111-2222-3333-4444-555555555555"
ABOUT = AboutService(uuid=UUID, version="0.1.0", host_name="rack7.example.org", https_port=8443)
OWN = OwnUris.of(FABRIC_MANAGER)
FABRIC = "/redfish/v1/Fabrics/A"
Documents = dict[str, dict[str, Any]]


def added(documents: Documents | None = None, **about: Any) -> Documents:
    found: Documents = {} if documents is None else documents
    add_service(found, replace(ABOUT, **about))
    return found


def a_manager(**properties: Any) -> Documents:
    """Return documents with a manager where ours usually is, and something below it."""
    return {
        FABRIC: {"@odata.id": FABRIC},
        OWN.manager: {"@odata.id": OWN.manager, **properties},
        f"{OWN.manager}/LogServices": {"Name": "theirs"},
        f"{OWN.manager}/LogServices/SEL": {"Name": "theirs"},
    }


def test_it_says_which_service_it_is() -> None:
    manager = added()[OWN.manager]
    assert manager["UUID"] == manager["ServiceEntryPointUUID"] == UUID
    assert (manager["ManagerType"], manager["FirmwareVersion"]) == ("Service", "0.1.0")


def test_every_property_is_one_of_its_type() -> None:
    for uri, document in added(interfaces=True, certificates=True).items():
        info = CATALOG.type_of(uri)
        assert info is not None, uri
        assert document["@odata.type"] == info.odata_type
        names = {name for name in document if not name.startswith("@odata.")}
        assert names <= info.properties.keys(), uri


def test_every_link_leads_somewhere() -> None:
    documents = added(interfaces=True)
    manager = documents[OWN.manager]
    below = ("NetworkProtocol", "LogServices", "EthernetInterfaces")
    assert all(manager[name]["@odata.id"] in documents for name in below)
    assert documents[OWN.log]["Entries"]["@odata.id"] in documents
    assert MANAGER_COLLECTION in documents


def test_interfaces_are_shown_only_where_there_are_any_to_show() -> None:
    assert "EthernetInterfaces" not in added()[OWN.manager]
    assert OWN.interfaces not in added()


def test_protocols_are_those_that_are_spoken() -> None:
    secure = added()[OWN.protocols]
    assert secure["HTTPS"] == {"ProtocolEnabled": True, "Port": 8443}
    assert secure["HTTP"] == {"ProtocolEnabled": False}
    plain = added(https_port=None, http_port=8080)[OWN.protocols]
    assert plain["HTTP"] == {"ProtocolEnabled": True, "Port": 8080}
    assert plain["HTTPS"] == {"ProtocolEnabled": False}


def test_a_host_name_with_a_domain_is_both_told_apart() -> None:
    both = added()[OWN.protocols]
    assert (both["HostName"], both["FQDN"]) == ("rack7", "rack7.example.org")
    bare = added(host_name="rack7")[OWN.protocols]
    assert bare["HostName"] == "rack7"
    assert "FQDN" not in bare


def test_another_manager_of_that_id_stays_and_ours_gets_another_one() -> None:
    documents = a_manager(ManagerType="BMC")
    own = add_service(documents, ABOUT)
    assert own == OwnUris.of("FabricManager2")
    assert documents[OWN.manager]["ManagerType"] == "BMC"
    assert documents[f"{OWN.manager}/LogServices"] == {"Name": "theirs"}
    assert documents[own.manager]["Id"] == "FabricManager2"


def test_a_third_one_is_found_too() -> None:
    documents = a_manager(ManagerType="BMC")
    documents[OwnUris.of("FabricManager2").manager] = {"ManagerType": "Service", "Model": "else"}
    assert add_service(documents, ABOUT).manager_id == "FabricManager3"


def test_what_a_recording_has_of_this_service_makes_way_and_its_links_stay() -> None:
    links = {"ManagerForFabrics": [{"@odata.id": FABRIC}, {"@odata.id": "/redfish/v1/Fabrics/B"}]}
    ours = added()[OWN.manager]
    documents = a_manager(ManagerType=ours["ManagerType"], Model=ours["Model"], Links=links)
    own = add_service(documents, ABOUT)
    assert own == OWN
    assert f"{OWN.manager}/LogServices/SEL" not in documents
    # What is not in the recording any more is not linked.
    assert documents[OWN.manager]["Links"] == {"ManagerForFabrics": [{"@odata.id": FABRIC}]}


def test_adding_it_again_changes_nothing() -> None:
    once = added(a_manager(ManagerType="BMC"))
    first = {uri: dict(document) for uri, document in once.items()}
    assert added(once) == first
