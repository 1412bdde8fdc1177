"""What a new state begins with: its identity, the imported documents and the first admin."""

import asyncio
import logging
import secrets

from redfish_fm.config import Config
from redfish_fm.control.kernel import Kernel
from redfish_fm.control.tip import TipView
from redfish_fm.mapping.drafts import Draft
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.documents import account_document
from redfish_fm.redfish.passwords import hash_password
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.base import StoredState
from redfish_fm.worlds import World, document_edit

log = logging.getLogger(__name__)

UUID_KEY = "uuid"
"""Key in the META space: the ServiceRoot.UUID, made once per state."""


def stored_uuid(stored: StoredState) -> str | None:
    """Return the ServiceRoot.UUID of this state; None where it is new."""
    raw = stored.spaces.get(Space.META, {}).get(UUID_KEY)
    return None if raw is None else raw.decode()


async def begin(
    config: Config, kernel: Kernel, catalog: Catalog, world: World, service_uuid: str
) -> None:
    """Commit what a new state begins with; one that has begun already stays as it is.

    Prints the admin's password where it had to be made. Raises RedfishError where the store
    refuses.
    """
    if kernel.writer.tip.spaces[Space.META].get(UUID_KEY) is not None:
        if config.admin_password is not None:
            log.info("this state has its accounts: REDFISH_FM_ADMIN_PASSWORD changes none")
        return
    uri, document = account_document(catalog, "admin", config.admin_user, "Administrator")
    if config.admin_password is None:
        password = secrets.token_urlsafe(15)
        print(f"redfish-fm first start: user {config.admin_user} password {password}", flush=True)
    else:
        password = config.admin_password.reveal()
    secret = await asyncio.to_thread(hash_password, password)

    def prepare(_: TipView) -> Draft:
        edits = (
            Edit(Space.META, UUID_KEY, None, service_uuid.encode()),
            *world.first,
            document_edit(Space.DOCUMENT, uri, document),
            Edit(Space.SECRET, uri, None, secret),
        )
        return Draft(OutcomeKind.CREATED, uri, edits)

    await kernel.writer.submit(prepare, "service")
