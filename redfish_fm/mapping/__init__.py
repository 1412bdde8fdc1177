"""The only room that knows both vocabularies: Redfish documents and fabric values."""
