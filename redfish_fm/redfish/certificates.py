"""A certificate as it travels from whoever can read one to where its resource is made.

Pure values, and the resources of certificates that every service has. Redfish:
CertificateService.v1_2_1, CertificateLocations.v1_0_4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.redfish.action_documents import actions_property
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.client_certificates import UserMapping

CLIENT_AUTHORITIES = "/redfish/v1/AccountService/MultiFactorAuth/ClientCertificate/Certificates"
"""The authorities that clients' certificates are trusted by."""
CERTIFICATE_SERVICE = "/redfish/v1/CertificateService"
CERTIFICATE_LOCATIONS = "/redfish/v1/CertificateService/CertificateLocations"
GENERATE, REPLACE = "CertificateService.GenerateCSR", "CertificateService.ReplaceCertificate"

Documents = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Material:
    """What a write brings of a certificate that was read and found fit for its use.

    `properties` are those of its resource (CertificateString and CertificateType among them);
    `key` its private key in PEM form, where it comes with one; `pending` the waiting key of an
    earlier GenerateCSR, where it is that one. Of GenerateCSR itself, `key` is the new key.
    """

    properties: Mapping[str, Any] = field(default_factory=dict)
    key: bytes | None = field(default=None, repr=False)
    pending: bytes | None = field(default=None, repr=False)


def client_certificate_settings() -> dict[str, Any]:
    """Return AccountService.MultiFactorAuth.ClientCertificate as it is before anybody sets it.

    Who has no certificate is always answered: else nobody could take back a wrong authority.
    """
    return {
        "Enabled": False,
        "CertificateMappingAttribute": UserMapping.COMMON_NAME.value,
        "CertificateMappingAttribute@Redfish.AllowableValues": [each.value for each in UserMapping],
        "RespondToUnauthenticatedClients": True,
        "Certificates": {"@odata.id": CLIENT_AUTHORITIES},
    }


def certificate_documents(catalog: Catalog, own_uri: str, *, served: bool) -> Documents:
    """Return the certificate service, its list, and the collection of the service's own one.

    `own_uri` is where that stands, and `served` whether there is one: not over plain HTTP. What is
    in a certificate is laid over later: it may be another one every day.
    """
    info = catalog.types["CertificateService"]

    def document(type_name: str, uri: str, name: str, **properties: Any) -> dict[str, Any]:
        return {
            "@odata.id": uri,
            "@odata.type": catalog.types[type_name].odata_type,
            **({} if type_name.endswith("Collection") else {"Id": uri.rsplit("/", 1)[-1]}),
            "Name": name,
            **properties,
        }

    own = own_uri.rpartition("/")[0]
    members = {"Members": [], "Members@odata.count": 0}
    found = {
        CERTIFICATE_SERVICE: document(
            info.name,
            CERTIFICATE_SERVICE,
            "Certificates",
            CertificateLocations={"@odata.id": CERTIFICATE_LOCATIONS},
            Actions=actions_property(catalog, info, CERTIFICATE_SERVICE),
        ),
        CERTIFICATE_LOCATIONS: document(
            "CertificateLocations", CERTIFICATE_LOCATIONS, "All certificates"
        ),
        own: document("CertificateCollection", own, "Certificate of this service", **members),
    }
    if served:
        usage = {"CertificateUsageTypes": ["Web"]}
        name = "HTTPS certificate of this service"
        found[own_uri] = document("Certificate", own_uri, name, **usage)
    return found
