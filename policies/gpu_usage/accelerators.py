"""Names of accelerators: which of a container's resources are GPUs, TPUs and the like, and how many it requests.

In `limits` and `requests`, every extended resource counts as an accelerator unless it is known to be something else, so
unknown vendors count. Elsewhere, where any key may contain a slash, only known vendors' names count.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from gpu_usage.manifest import UNKNOWN, Path, UncountableError, UnseenError, dotted, unknown, whole_number

# Network interfaces, devices of the kernel, enclaves: what else device plugins offer.
_HARMLESS = re.compile(
    r"vpc\.amazonaws\.com/.*|networking\.gke\.io\.networks/.*|rdma/.*|mellanox\.com/.*|openshift\.io/.*"
    r"|nvidia\.com/(hostdev|\w*rdma\w*|\w*sriov\w*)|intel\.com/\w*(sriov|rdma|sgx|qat|dsa)[\w-]*"
    # Plugins that advertise any file of /dev by name, including GPUs.
    r"|(devices\.kubevirt\.io|smarter-devices|squat\.ai)/(fuse|kvm|(net_)?tun|vhost-(net|vsock)|sev|video\d*|snd"
    r"|tty\w*|serial|gpiochip\d*|i2c-\d+|spidev[\d.]*|rtc\d*|loop\d*|random|hwrng|watchdog\d*)|github\.com/fuse"
    r"|sgx\.intel\.com/.*|qat\.intel\.com/.*|dsa\.intel\.com/.*|kubernetes\.azure\.com/sgx\w*|hugepages-.*"
    r"|koordinator\.sh/rdma|amd\.com/v?nic"
)
# A device class with Kubernetes' own prefix.
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_VENDORS = (
    # The keys of a ResourceQuota have a prefix: `requests.nvidia.com/gpu` limits what others request.
    r"(?<![\w.-])(?!(?:requests|limits)\.)(?:[\w-]+\.)+[a-z]{2,}(?:/|~1)"
    r"(?:[vp]?gpu(?:\.shared)?|mig-[\w.+-]+|tpu|neuron(?:core|device)?|gaudi|[nidx]pu|mlu|[dg]cu)(?![\w.-])"
    r"|[gnv]pu\.intel\.com(?:/|~1)[\w-]+|huawei\.com(?:/|~1)[\w.-]+|cloud-tpus\.google\.com(?:/|~1)[\w-]+"
    r"|(?:sambanova|hyperaccel|moffett|furiosa|rebellions)\.ai(?:/|~1)[\w-]+|amd\.com(?:/|~1)[cdqs]px_nps\d"
    r"|(?:tenstorrent|vastaitech|directx\.microsoft)\.com(?:/|~1)[\w-]+|(?:baidu|birentech)\.com(?:/|~1)[\w-]*gpu"
    r"|ibm\.com(?:/|~1)(?:spyre|aiu)_[\w.]+|qualcomm\.com(?:/|~1)qaic[\w-]*|alibabacloud\.com(?:/|~1)ppu[\w-]*"
    r"|(?:volcano\.sh|aliyun\.com|tencent\.com)(?:/|~1)v?(?:gpu|cuda)[\w-]*|deviceclass\.resource\.kubernetes\.io/.+"
)
_OF_VENDORS = re.compile(_VENDORS)
_OF_VENDORS_AS_KEY = re.compile(
    rf"""({_VENDORS})\\?["']?\s*[:=]|~1(?:[vp]?gpu|mig-|tpu|neuron|gaudi)"""
    # Settings of Spark, which has no prefix of a vendor.
    r"|spark\.(?:driver|executor)\.resource\.\w+\.amount\b"
)
# Shares of devices, in addition to their number or instead of it, as vendors and HAMi, Koordinator, Volcano name them.
_UNIT = r"(gpu|cuda|[dg]cu|mlu|[nx]pu)"
# In hundredths of a device: 800 of tencent.com/vcuda-core are eight. A neuroncore is a device.
_HUNDREDTHS = re.compile(
    rf".*/([\w.-]*([._-]|{_UNIT}))?(v?cores?|percentage|ratio)([.-]percentage)?|koordinator\.sh/gpu", re.IGNORECASE
)
# In units of memory, whose number on a device is unknown: with only these, a container gets one device.
_MEMORY = re.compile(r".*/[\w.-]*mem(ory)?([.-](max|\d+\w*))?|gpu\.intel\.com/(millicores|tiles)", re.IGNORECASE)
_QUANTITY = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+|[numkMGTPE]i?|Ki)?")
# A device's name in the list of a virtual machine.
_DOMAIN = re.compile(r"[\w.-]+\.[\w.-]+/.+")


def is_named(key: str) -> bool:
    """Whether a key is a vendor's name of an accelerator, anywhere in a manifest."""
    return _OF_VENDORS.fullmatch(key) is not None


def named_in(text: str) -> bool:
    """Whether a text contains a quantity of an accelerator, as in manifests and patches."""
    return _OF_VENDORS_AS_KEY.search(text) is not None


def is_device(name: Any) -> bool:
    """Whether a device of a virtual machine is an accelerator, or may be one."""
    return not isinstance(name, str) or (_DOMAIN.fullmatch(name) is not None and not _HARMLESS.fullmatch(name))


def is_asked(resource: str) -> bool:
    """Whether a resource in `limits` or `requests` is an accelerator. A templated name counts as one."""
    if "{{" in resource or "$(" in resource or resource.startswith(_DEVICE_CLASS):
        return True
    domain, _, device = resource.partition("/")
    if not device or domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
        return False
    return not _HARMLESS.fullmatch(resource)


def requested(resources: Mapping[str, Any], path: Path) -> int:
    """Accelerators of one `resources` map. Kubernetes requires equal limits and requests of them."""
    most: dict[str, int] = {}
    for key in ("requests", "limits"):
        given = resources.get(key)
        quantities: Mapping[str, Any] = given if isinstance(given, dict) else {}
        for name in filter(is_asked, quantities):
            most[name] = max(most.get(name, 0), _devices(name, quantities[name], (*path, key, name)))
    # What a plugin offers has its prefix: its shares are of the devices that the container gets by number.
    whole: Counter[str] = Counter()
    shares: dict[str, int] = defaultdict(int)
    for name, amount in most.items():
        plugin = name.partition("/")[0]
        if _is_share(name):
            shares[plugin] = max(shares[plugin], amount)
        else:
            whole[plugin] += amount
    return sum(max(whole[plugin], shares[plugin]) for plugin in {*whole, *shares})


def _is_share(name: str) -> bool:
    return bool(_HUNDREDTHS.fullmatch(name) or _MEMORY.fullmatch(name))


def _devices(name: str, amount: Any, path: Path) -> int:
    """Devices of a resource: its number, or as many as have such a share."""
    if isinstance(amount, dict):  # `{{ gpus }}` in YAML
        raise UnseenError(f"`{dotted(path)}` is filled in later", "write it as a plain number")
    if not _is_share(name):
        return whole_number(amount, path)
    if amount is UNKNOWN:
        raise unknown(path)
    if _MEMORY.fullmatch(name):
        return int(not _is_nothing(amount, path))
    return math.ceil(whole_number(amount, path) / 100)


def _is_nothing(amount: Any, path: Path) -> bool:
    """Whether a quantity, which may have a unit, is 0."""
    found = _QUANTITY.fullmatch(str(amount))
    if found is None:
        raise UncountableError(f"`{dotted(path)}` is not a quantity", "give it as a number with or without a unit")
    return float(found[1]) == 0
