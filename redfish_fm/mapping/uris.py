"""Where the resources of a discovered fabric stand: whole URI templates, one a line.

Pure table. The same templates stand in schemas/ as facts of the standard; a test holds them to it.
`fabric_of` and `storage_of` are the ways to read a URI back.
"""

from functools import lru_cache

CHASSIS_COLLECTION = "/redfish/v1/Chassis"
SYSTEM_COLLECTION = "/redfish/v1/Systems"
MANAGER_COLLECTION = "/redfish/v1/Managers"
FABRIC_COLLECTION = "/redfish/v1/Fabrics"
STORAGE_COLLECTION = "/redfish/v1/Storage"

FABRIC = "/redfish/v1/Fabrics/{fabric}"
SWITCHES = "/redfish/v1/Fabrics/{fabric}/Switches"
SWITCH = "/redfish/v1/Fabrics/{fabric}/Switches/{switch}"
PORTS = "/redfish/v1/Fabrics/{fabric}/Switches/{switch}/Ports"
PORT = "/redfish/v1/Fabrics/{fabric}/Switches/{switch}/Ports/{port}"
PORT_METRICS = "/redfish/v1/Fabrics/{fabric}/Switches/{switch}/Ports/{port}/Metrics"
SWITCH_METRICS = "/redfish/v1/Fabrics/{fabric}/Switches/{switch}/SwitchMetrics"
VCSS = "/redfish/v1/Fabrics/{fabric}/Switches/{switch}/VCSs"
VCS = "/redfish/v1/Fabrics/{fabric}/Switches/{switch}/VCSs/{vcs}"
VPPBS = "/redfish/v1/Fabrics/{fabric}/Switches/{switch}/VCSs/{vcs}/VPPBs"
VPPB = "/redfish/v1/Fabrics/{fabric}/Switches/{switch}/VCSs/{vcs}/VPPBs/{vppb}"
ENDPOINTS = "/redfish/v1/Fabrics/{fabric}/Endpoints"
ENDPOINT = "/redfish/v1/Fabrics/{fabric}/Endpoints/{endpoint}"
ZONES = "/redfish/v1/Fabrics/{fabric}/Zones"
CONNECTIONS = "/redfish/v1/Fabrics/{fabric}/Connections"
ENDPOINT_GROUPS = "/redfish/v1/Fabrics/{fabric}/EndpointGroups"
ADDRESS_POOLS = "/redfish/v1/Fabrics/{fabric}/AddressPools"

SYSTEM = "/redfish/v1/Systems/{system}"
PROCESSORS = "/redfish/v1/Systems/{system}/Processors"
PROCESSOR = "/redfish/v1/Systems/{system}/Processors/{processor}"
HOST_PORTS = "/redfish/v1/Systems/{system}/Processors/{processor}/Ports"
HOST_PORT = "/redfish/v1/Systems/{system}/Processors/{processor}/Ports/{port}"
PROCESSOR_METRICS = "/redfish/v1/Systems/{system}/Processors/{processor}/ProcessorMetrics"
PROCESSOR_ENVIRONMENT = "/redfish/v1/Systems/{system}/Processors/{processor}/EnvironmentMetrics"
HOST_MEMORY = "/redfish/v1/Systems/{system}/Memory"
HOST_MODULE = "/redfish/v1/Systems/{system}/Memory/{module}"
HOST_MODULE_METRICS = "/redfish/v1/Systems/{system}/Memory/{module}/MemoryMetrics"
HOST_MEMORY_METRICS = "/redfish/v1/Systems/{system}/MemorySummary/MemoryMetrics"
HOST_DOMAINS = "/redfish/v1/Systems/{system}/MemoryDomains"
HOST_DOMAIN = "/redfish/v1/Systems/{system}/MemoryDomains/{domain}"
HOST_STORAGES = "/redfish/v1/Systems/{system}/Storage"
HOST_STORAGE = "/redfish/v1/Systems/{system}/Storage/{storage}"
HOST_CONTROLLERS = "/redfish/v1/Systems/{system}/Storage/{storage}/Controllers"
HOST_CONTROLLER = "/redfish/v1/Systems/{system}/Storage/{storage}/Controllers/{controller}"
HOST_VOLUMES = "/redfish/v1/Systems/{system}/Storage/{storage}/Volumes"
HOST_VOLUME = "/redfish/v1/Systems/{system}/Storage/{storage}/Volumes/{volume}"
HOST_ETHERNETS = "/redfish/v1/Systems/{system}/EthernetInterfaces"
HOST_ETHERNET = "/redfish/v1/Systems/{system}/EthernetInterfaces/{interface}"
NETWORK_INTERFACES = "/redfish/v1/Systems/{system}/NetworkInterfaces"
NETWORK_INTERFACE = "/redfish/v1/Systems/{system}/NetworkInterfaces/{interface}"
FABRIC_ADAPTERS = "/redfish/v1/Systems/{system}/FabricAdapters"
FABRIC_ADAPTER = "/redfish/v1/Systems/{system}/FabricAdapters/{adapter}"
FABRIC_ADAPTER_PORTS = "/redfish/v1/Systems/{system}/FabricAdapters/{adapter}/Ports"
FABRIC_ADAPTER_PORT = "/redfish/v1/Systems/{system}/FabricAdapters/{adapter}/Ports/{port}"
BIOS = "/redfish/v1/Systems/{system}/Bios"
BOOT_OPTIONS = "/redfish/v1/Systems/{system}/BootOptions"
BOOT_OPTION = "/redfish/v1/Systems/{system}/BootOptions/{option}"
SECURE_BOOT = "/redfish/v1/Systems/{system}/SecureBoot"

CHASSIS = "/redfish/v1/Chassis/{chassis}"
DEVICES = "/redfish/v1/Chassis/{chassis}/PCIeDevices"
DEVICE = "/redfish/v1/Chassis/{chassis}/PCIeDevices/{device}"
FUNCTIONS = "/redfish/v1/Chassis/{chassis}/PCIeDevices/{device}/PCIeFunctions"
FUNCTION = "/redfish/v1/Chassis/{chassis}/PCIeDevices/{device}/PCIeFunctions/{function}"
LDS = "/redfish/v1/Chassis/{chassis}/PCIeDevices/{device}/CXLLogicalDevices"
LD = "/redfish/v1/Chassis/{chassis}/PCIeDevices/{device}/CXLLogicalDevices/{ld}"
REGIONS = "/redfish/v1/Chassis/{chassis}/PCIeDevices/{device}/CXLLogicalDevices/{ld}/MemoryRegions"
DOMAINS = "/redfish/v1/Chassis/{chassis}/MemoryDomains"
DOMAIN = "/redfish/v1/Chassis/{chassis}/MemoryDomains/{domain}"
CHUNKS = "/redfish/v1/Chassis/{chassis}/MemoryDomains/{domain}/MemoryChunks"
CHUNK = "/redfish/v1/Chassis/{chassis}/MemoryDomains/{domain}/MemoryChunks/{chunk}"
DRIVES = "/redfish/v1/Chassis/{chassis}/Drives"
DRIVE = "/redfish/v1/Chassis/{chassis}/Drives/{drive}"
DRIVE_METRICS = "/redfish/v1/Chassis/{chassis}/Drives/{drive}/Metrics"
SENSORS = "/redfish/v1/Chassis/{chassis}/Sensors"
SENSOR = "/redfish/v1/Chassis/{chassis}/Sensors/{sensor}"
ENVIRONMENT_METRICS = "/redfish/v1/Chassis/{chassis}/EnvironmentMetrics"
POWER_SUBSYSTEM = "/redfish/v1/Chassis/{chassis}/PowerSubsystem"
POWER_SUPPLIES = "/redfish/v1/Chassis/{chassis}/PowerSubsystem/PowerSupplies"
POWER_SUPPLY = "/redfish/v1/Chassis/{chassis}/PowerSubsystem/PowerSupplies/{supply}"
POWER_SUPPLY_METRICS = "/redfish/v1/Chassis/{chassis}/PowerSubsystem/PowerSupplies/{supply}/Metrics"
THERMAL_SUBSYSTEM = "/redfish/v1/Chassis/{chassis}/ThermalSubsystem"
THERMAL_METRICS = "/redfish/v1/Chassis/{chassis}/ThermalSubsystem/ThermalMetrics"
FANS = "/redfish/v1/Chassis/{chassis}/ThermalSubsystem/Fans"
FAN = "/redfish/v1/Chassis/{chassis}/ThermalSubsystem/Fans/{fan}"
ASSEMBLY = "/redfish/v1/Chassis/{chassis}/Assembly"
NETWORK_ADAPTERS = "/redfish/v1/Chassis/{chassis}/NetworkAdapters"
NETWORK_ADAPTER = "/redfish/v1/Chassis/{chassis}/NetworkAdapters/{adapter}"
NETWORK_PORTS = "/redfish/v1/Chassis/{chassis}/NetworkAdapters/{adapter}/Ports"
NETWORK_PORT = "/redfish/v1/Chassis/{chassis}/NetworkAdapters/{adapter}/Ports/{port}"
NETWORK_FUNCTIONS = "/redfish/v1/Chassis/{chassis}/NetworkAdapters/{adapter}/NetworkDeviceFunctions"
NETWORK_FUNCTION = (
    "/redfish/v1/Chassis/{chassis}/NetworkAdapters/{adapter}/NetworkDeviceFunctions/{function}"
)
DEVICE_ENVIRONMENT = "/redfish/v1/Chassis/{chassis}/PCIeDevices/{device}/EnvironmentMetrics"
DRIVE_ENVIRONMENT = "/redfish/v1/Chassis/{chassis}/Drives/{drive}/EnvironmentMetrics"
ADAPTER_ENVIRONMENT = "/redfish/v1/Chassis/{chassis}/NetworkAdapters/{adapter}/EnvironmentMetrics"
MODULES = "/redfish/v1/Chassis/{chassis}/Memory"
MODULE = "/redfish/v1/Chassis/{chassis}/Memory/{module}"
MODULE_METRICS = "/redfish/v1/Chassis/{chassis}/Memory/{module}/MemoryMetrics"
MODULE_ENVIRONMENT = "/redfish/v1/Chassis/{chassis}/Memory/{module}/EnvironmentMetrics"
CHASSIS_PROCESSORS = "/redfish/v1/Chassis/{chassis}/Processors"
CHASSIS_PROCESSOR = "/redfish/v1/Chassis/{chassis}/Processors/{processor}"

STORAGE = "/redfish/v1/Storage/{storage}"
STORAGE_CONTROLLERS = "/redfish/v1/Storage/{storage}/Controllers"
STORAGE_CONTROLLER = "/redfish/v1/Storage/{storage}/Controllers/{controller}"
CONTROLLER_PORTS = "/redfish/v1/Storage/{storage}/Controllers/{controller}/Ports"
CONTROLLER_PORT = "/redfish/v1/Storage/{storage}/Controllers/{controller}/Ports/{port}"
STORAGE_POOLS = "/redfish/v1/Storage/{storage}/StoragePools"
STORAGE_POOL = "/redfish/v1/Storage/{storage}/StoragePools/{pool}"
ALLOCATED_VOLUMES = "/redfish/v1/Storage/{storage}/StoragePools/{pool}/AllocatedVolumes"
VOLUMES = "/redfish/v1/Storage/{storage}/Volumes"

COMPOSITION_SERVICE = "/redfish/v1/CompositionService"
RESOURCE_BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"
RESOURCE_BLOCK = "/redfish/v1/CompositionService/ResourceBlocks/{block}"
RESOURCE_ZONES = "/redfish/v1/CompositionService/ResourceZones"
RESOURCE_ZONE = "/redfish/v1/CompositionService/ResourceZones/{zone}"
RESERVATIONS = "/redfish/v1/CompositionService/CompositionReservations"
FREE_POOL = "/redfish/v1/CompositionService/FreePool"
ACTIVE_POOL = "/redfish/v1/CompositionService/ActivePool"

CABLE_COLLECTION = "/redfish/v1/Cables"
CABLE = "/redfish/v1/Cables/{cable}"

FABRIC_MANAGER = "FabricManager"
"""Id of the manager that this service itself is."""
MANAGER = "/redfish/v1/Managers/{manager}"
MANAGER_ETHERNETS = "/redfish/v1/Managers/{manager}/EthernetInterfaces"
MANAGER_ETHERNET = "/redfish/v1/Managers/{manager}/EthernetInterfaces/{interface}"
MANAGER_PROTOCOLS = "/redfish/v1/Managers/{manager}/NetworkProtocol"
MANAGER_LOGS = "/redfish/v1/Managers/{manager}/LogServices"
MANAGER_LOG = "/redfish/v1/Managers/{manager}/LogServices/{log}"
MANAGER_LOG_ENTRIES = "/redfish/v1/Managers/{manager}/LogServices/{log}/Entries"
HTTPS_CERTIFICATES = "/redfish/v1/Managers/{manager}/NetworkProtocol/HTTPS/Certificates"
HTTPS_CERTIFICATE = (
    "/redfish/v1/Managers/{manager}/NetworkProtocol/HTTPS/Certificates/{certificate}"
)
TASK_SERVICE = "/redfish/v1/TaskService"
TASK = "/redfish/v1/TaskService/Tasks/{task}"

EVENT_SERVICE = "/redfish/v1/EventService"
SUBSCRIPTIONS = "/redfish/v1/EventService/Subscriptions"
SUBSCRIPTION = "/redfish/v1/EventService/Subscriptions/{subscription}"

FABRIC_PREFIX = FABRIC.format(fabric="")
"""What the URI of everything in a fabric begins with."""
_FABRIC_DEPTH = FABRIC_PREFIX.count("/")
_CHASSIS_PREFIX = CHASSIS.format(chassis="")

# The service root, a system or a resource block; nothing that is only named "Storage".
_STORAGE_PARENTS = frozenset({"redfish", "Systems", "ResourceBlocks"})


@lru_cache(maxsize=1024)
def fabric_of(uri: str) -> str | None:
    """Return the id of the fabric that `uri` lies in, or None outside of fabrics."""
    if not uri.startswith(FABRIC_PREFIX):
        return None
    return uri.split("/", _FABRIC_DEPTH + 1)[_FABRIC_DEPTH] or None


def chassis_of(uri: str) -> str | None:
    """Return the chassis that a resource stands in, or None outside of any."""
    if not uri.startswith(_CHASSIS_PREFIX):
        return None
    end = uri.find("/", len(_CHASSIS_PREFIX))
    return uri if end < 0 else uri[:end]


def storage_of(uri: str) -> str | None:
    """Return the Storage that `uri` lies in, standing alone or in a system or block, or None."""
    head, found, below = uri.partition("/Storage/")
    if not found or not below or head.split("/")[-2] not in _STORAGE_PARENTS:
        return None
    return f"{head}{found}{below.split('/', 1)[0]}"
