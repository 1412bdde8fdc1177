"""The resources that describe the service itself: root, its services, roles, registries, schemas.

Pure: returns documents by URI (no trailing slash), for whoever keeps the inventory to serve.
Collections whose members come and go (Accounts, Tasks, Sessions) are given empty.
"""

from collections.abc import Iterable
from typing import Any

from redfish_fm.redfish.action_documents import action_info_documents, actions_property
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.certificates import CLIENT_AUTHORITIES, client_certificate_settings
from redfish_fm.redfish.policy import DEFAULT, properties_of
from redfish_fm.redfish.privileges import Privileges
from redfish_fm.redfish.query import LEVELS_MAX
from redfish_fm.redfish.registries import Registries, RegistryInfo
from redfish_fm.redfish.served import served_types
from redfish_fm.redfish.sessions import ABSOLUTE_TIMEOUT_S, TIMEOUT_S
from redfish_fm.redfish.tasks import TASK_KEPT_MINUTES

REDFISH_VERSION = "1.20.0"
"""The version of DSP0266 that the service follows."""

_FEATURES = {
    "DeepOperations": {"DeepPATCH": False, "DeepPOST": False},
    "ExcerptQuery": True,
    "ExpandQuery": {
        "ExpandAll": True,
        "Levels": True,
        "Links": True,
        "MaxLevels": LEVELS_MAX,
        "NoLinks": True,
    },
    "FilterQuery": True,
    "FilterQueryComparisonOperations": True,
    "FilterQueryCompoundOperations": True,
    "MultipleHTTPRequests": True,
    "OnlyMemberQuery": True,
    "SelectQuery": True,
    "TopSkipQuery": True,
}
_LANGUAGE = "en"

PRIVILEGE_REGISTRY_VERSION = "1.0.0"
"""Of our own map; grows with what service.json adds to the standard one."""

Documents = dict[str, dict[str, Any]]


def service_documents(
    catalog: Catalog,
    registries: Registries,
    privileges: Privileges,
    *,
    uuid: str,
    product_version: str,
    top_level: Iterable[str] = (),
    odata_types: Iterable[str] = (),
    session_timeout_s: float = TIMEOUT_S,
) -> Documents:
    """Return every resource that describes the service, by URI.

    `uuid` stays the same over restarts. `top_level` names properties of the service root that
    other resources stand behind ("Fabrics", "Systems"); each links to its type's fixed URI.
    `odata_types` are those of all other documents, for the list of schemas.
    """
    make = _Maker(catalog)
    found = {
        **make.root(uuid, product_version, top_level),
        **make.session_service(session_timeout_s),
        **make.account_service(),
        **make.privilege_map(privileges),
        **make.task_service(),
        **make.registries(registries),
        **action_info_documents(catalog),
        **make.collection("JsonSchemaFileCollection", "Schemas"),
    }
    types = {str(document["@odata.type"]) for document in found.values()}
    return {**found, **make.schemas((*types, *odata_types))}


def account_document(
    catalog: Catalog, account_id: str, user_name: str, role_id: str
) -> tuple[str, dict[str, Any]]:
    """Return URI and document of an account; its password is a secret of its own."""
    uri = f"{catalog.uri_of('ManagerAccountCollection')}/{account_id}"
    role = f"{catalog.uri_of('RoleCollection')}/{role_id}"
    return uri, {
        "@odata.id": uri,
        "@odata.type": catalog.types["ManagerAccount"].odata_type,
        "Id": account_id,
        "Name": f"Account of {user_name}",
        "UserName": user_name,
        "Password": None,
        "RoleId": role_id,
        "Enabled": True,
        "Locked": False,
        "AccountTypes": ["Redfish"],
        "Links": {"Role": {"@odata.id": role}},
    }


class _One:
    """One document under construction."""

    def __init__(self, uri: str, document: dict[str, Any]) -> None:
        self.documents: Documents = {uri: document}
        self._document = document

    def linking(self, catalog: Catalog, **links: str) -> "_One":
        """Add links by property to the fixed URIs of types."""
        for name, type_name in links.items():
            self._document[name] = {"@odata.id": catalog.uri_of(type_name)}
        return self


class _Maker:
    """Makes the documents from the catalog's types and URIs."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def one(self, type_name: str, **properties: Any) -> _One:
        """Start the document of a type that exists once."""
        uri = self._catalog.uri_of(type_name)
        return _One(uri, self._document(type_name, uri, properties))

    def collection(self, type_name: str, name: str, members: Iterable[str] = ()) -> Documents:
        """Return a collection at its type's fixed URI."""
        links = [{"@odata.id": member} for member in members]
        properties = {"Name": name, "Members": links, "Members@odata.count": len(links)}
        uri = self._catalog.uri_of(type_name)
        return {uri: self._document(type_name, uri, properties)}

    def root(self, uuid: str, product_version: str, top_level: Iterable[str]) -> Documents:
        """Return the service root."""
        catalog = self._catalog
        made = self.one(
            "ServiceRoot",
            Id="RootService",
            Name="redfish-fm",
            RedfishVersion=REDFISH_VERSION,
            UUID=uuid,
            Vendor="redfish_fm",
            Product=f"redfish-fm {product_version}",
            ProtocolFeaturesSupported=_FEATURES,
            Links={"Sessions": {"@odata.id": catalog.uri_of("SessionCollection")}},
        )
        made.linking(
            catalog,
            SessionService="SessionService",
            AccountService="AccountService",
            Tasks="TaskService",
            Registries="MessageRegistryFileCollection",
            JsonSchemas="JsonSchemaFileCollection",
        )
        properties = catalog.types["ServiceRoot"].properties
        made.linking(catalog, **{name: str(properties[name].link_to) for name in top_level})
        made.documents["/redfish/v1"]["@odata.id"] = "/redfish/v1/"
        return made.documents

    def task_service(self) -> Documents:
        """Return the task service and the collection of Tasks; its DateTime is told when read."""
        info = self._catalog.types["TaskService"]
        uri = self._catalog.uri_of("TaskService")
        made = self.one(
            "TaskService",
            Id="TaskService",
            Name="Tasks",
            ServiceEnabled=True,
            Status={"State": "Enabled", "Health": "OK"},
            CompletedTaskOverWritePolicy="Oldest",
            LifeCycleEventOnTaskStateChange=True,
            TaskAutoDeleteTimeoutMinutes=TASK_KEPT_MINUTES,
            Actions=actions_property(self._catalog, info, uri),
        ).linking(self._catalog, Tasks="TaskCollection")
        return {**made.documents, **self.collection("TaskCollection", "Tasks")}

    def session_service(self, timeout_s: float) -> Documents:
        """Return the session service and the collection of sessions."""
        made = self.one(
            "SessionService",
            Id="SessionService",
            Name="Sessions",
            ServiceEnabled=True,
            SessionTimeout=int(timeout_s),
            AbsoluteSessionTimeout=ABSOLUTE_TIMEOUT_S,
            AbsoluteSessionTimeoutEnabled=False,
        ).linking(self._catalog, Sessions="SessionCollection")
        return {**made.documents, **self.collection("SessionCollection", "Sessions")}

    def account_service(self) -> Documents:
        """Return the account service, with the policy that clients may change, and its roles."""
        catalog = self._catalog
        made = self.one(
            "AccountService",
            Id="AccountService",
            Name="Accounts",
            SupportedAccountTypes=["Redfish"],
            **properties_of(DEFAULT),
            MultiFactorAuth={"ClientCertificate": client_certificate_settings()},
            PrivilegeMap={"@odata.id": catalog.account_privilege_map},
        ).linking(catalog, Accounts="ManagerAccountCollection", Roles="RoleCollection")
        roles_uri = catalog.uri_of("RoleCollection")
        roles = {
            f"{roles_uri}/{name}": self._document(
                "Role",
                f"{roles_uri}/{name}",
                {
                    "Id": name,
                    "Name": name,
                    "RoleId": name,
                    "IsPredefined": True,
                    "AssignedPrivileges": list(privileges),
                },
            )
            for name, privileges in catalog.role_privileges.items()
        }
        authorities = {
            "Name": "Authorities of clients' certificates",
            "Members": [],
            "Members@odata.count": 0,
        }
        return {
            **made.documents,
            CLIENT_AUTHORITIES: self._document(
                "CertificateCollection", CLIENT_AUTHORITIES, authorities
            ),
            **self.collection("ManagerAccountCollection", "Accounts"),
            **self.collection("RoleCollection", "Roles", roles),
            **roles,
        }

    def registries(self, registries: Registries) -> Documents:
        """Return the message registries: the standard ones by publication, our own in full."""
        collection = self._catalog.uri_of("MessageRegistryFileCollection")
        found: Documents = {}
        for info in registries.registries.values():
            uri = f"{collection}/{info.prefix}"
            location = {"Language": _LANGUAGE}
            if info.own:
                location["Uri"] = f"{uri}/{info.prefix}.{info.version}"
                found[location["Uri"]] = self._registry(info)
            else:
                file = f"{info.prefix}.{info.version}.json"
                location["PublicationUri"] = f"https://redfish.dmtf.org/registries/{file}"
            found[uri] = self._file(
                "MessageRegistryFile", uri, location, Registry=f"{info.prefix}.{info.version}"
            )
        members = [uri for uri in found if uri.rpartition("/")[0] == collection]
        name = "MessageRegistryFileCollection"
        return {**self.collection(name, "Message registries", members), **found}

    def schemas(self, odata_types: Iterable[str]) -> Documents:
        """Return one entry per version of a type in use, referring to its published schema."""
        collection = self._catalog.uri_of("JsonSchemaFileCollection")
        found: Documents = {}
        for each in served_types(self._catalog, odata_types):
            uri = f"{collection}/{each.namespace}"
            location = {"Language": _LANGUAGE, "PublicationUri": each.publication_uri}
            found[uri] = self._file("JsonSchemaFile", uri, location, Schema=each.odata_type)
        return {**self.collection("JsonSchemaFileCollection", "Schemas", found), **found}

    def privilege_map(self, privileges: Privileges) -> Documents:
        """Return the map that decides, which is the standard's with our additions."""
        uri = self._catalog.account_privilege_map
        properties = {
            "Id": uri.rsplit("/", 1)[-1],
            "Name": f"Privilege map {PRIVILEGE_REGISTRY_VERSION}",
            "PrivilegesUsed": list(privileges.used),
            "OEMPrivilegesUsed": [],
            "Mappings": privileges.mappings(self._catalog.types),
        }
        return {uri: self._document("PrivilegeRegistry", uri, properties)}

    def _file(
        self, type_name: str, uri: str, location: dict[str, str], **further: str
    ) -> dict[str, Any]:
        name = uri.rsplit("/", 1)[-1]
        properties = {
            "Id": name,
            "Name": name,
            "Languages": [_LANGUAGE],
            "Location": [location],
            **further,
        }
        return self._document(type_name, uri, properties)

    def _registry(self, info: RegistryInfo) -> dict[str, Any]:
        uri = f"{self._catalog.uri_of('MessageRegistryFileCollection')}/{info.prefix}"
        name = f"{info.prefix}.{info.version}"
        properties = {
            "Id": name,
            "Name": f"Messages of {info.prefix}",
            "Language": _LANGUAGE,
            "RegistryPrefix": info.prefix,
            "RegistryVersion": info.version,
            "OwningEntity": "redfish_fm",
            "Messages": {
                key: {
                    "Description": row.text,
                    "Message": row.text,
                    "MessageSeverity": row.severity,
                    "NumberOfArgs": len(row.parameter_types),
                    "ParamTypes": list(row.parameter_types),
                    "Resolution": row.resolution,
                }
                for key, row in info.messages.items()
            },
        }
        return self._document("MessageRegistry", f"{uri}/{name}", properties)

    def _document(self, type_name: str, uri: str, properties: dict[str, Any]) -> dict[str, Any]:
        odata_type = self._catalog.types[type_name].odata_type
        return {"@odata.id": uri, "@odata.type": odata_type, **properties}
