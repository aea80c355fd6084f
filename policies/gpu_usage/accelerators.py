"""Names of accelerators: which of a container's resources are GPUs, TPUs and the like, and how many it requests.

In `limits` and `requests`, every extended resource counts as an accelerator unless it is known to be something else, so
unknown vendors count. Elsewhere, where any key may contain a slash, only known vendors' names count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpu_usage.manifest import Path, whole_number

# Network interfaces, devices of the kernel, enclaves: what else device plugins offer.
_HARMLESS = re.compile(
    r"vpc\.amazonaws\.com/.*|networking\.gke\.io\.networks/.*|rdma/.*|mellanox\.com/.*|openshift\.io/.*"
    r"|nvidia\.com/(hostdev|\w*rdma\w*|\w*sriov\w*)|intel\.com/\w*(sriov|rdma|sgx|qat|dsa)[\w-]*"
    # Plugins that advertise any file of /dev by name, including GPUs.
    r"|(devices\.kubevirt\.io|smarter-devices|squat\.ai)/(fuse|kvm|(net_)?tun|vhost-(net|vsock)|sev|video\d*|snd"
    r"|tty\w*|serial|gpiochip\d*|i2c-\d+|spidev[\d.]*|rtc\d*|loop\d*|random|hwrng|watchdog\d*)|github\.com/fuse"
    r"|sgx\.intel\.com/.*|qat\.intel\.com/.*|dsa\.intel\.com/.*|kubernetes\.azure\.com/sgx\w*|hugepages-.*"
)
# A device class with Kubernetes' own prefix.
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_VENDORS = (
    r"(?<![\w.-])(?:[\w-]+\.)+[a-z]{2,}(?:/|~1)(?:[vp]?gpu(?:\.shared)?|mig-[\w.+-]+|tpu|neuron(?:core|device)?|gaudi|[nid]pu|mlu"
    r"|[dg]cu)(?![\w.-])"
    r"|gpu\.intel\.com(?:/|~1)[\w-]+|huawei\.com(?:/|~1)[\w.-]+|cloud-tpus\.google\.com(?:/|~1)[\w-]+"
    r"|(?:volcano\.sh|aliyun\.com|tencent\.com)(?:/|~1)v?(?:gpu|cuda)[\w-]*|deviceclass\.resource\.kubernetes\.io/.+"
)
_NAMED = re.compile(_VENDORS)
_NAMED_AS_KEY = re.compile(rf"""({_VENDORS})\\?["']?\s*[:=]|~1(?:[vp]?gpu|mig-|tpu|neuron|gaudi)""")
# Shares of a device, in addition to the number: with only these, a container gets one device.
_SHARE = re.compile(r".*/(v?gpu[.-]?(mem|memory|cores?|percentage|mem-percentage)|vcuda-(core|memory))")
# A device's name in the list of a virtual machine.
_DOMAIN = re.compile(r"[\w.-]+\.[\w.-]+/.+")


def is_named(key: str) -> bool:
    """Whether a key is a vendor's name of an accelerator, anywhere in a manifest."""
    return _NAMED.fullmatch(key) is not None


def named_in(text: str) -> bool:
    """Whether a text contains a quantity of an accelerator, as in manifests and patches."""
    return _NAMED_AS_KEY.search(text) is not None


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


def asked(resources: Mapping[str, Any], path: Path) -> int:
    """Accelerators of one `resources` map. Kubernetes requires equal limits and requests of them."""
    most: dict[str, int] = {}
    for key in ("requests", "limits"):
        given = resources.get(key)
        quantities: Mapping[str, Any] = given if isinstance(given, dict) else {}
        for name in filter(is_asked, quantities):
            amount = whole_number(quantities[name], (*path, key, name))
            most[name] = max(most.get(name, 0), amount)
    devices = sum(amount for name, amount in most.items() if not _SHARE.fullmatch(name))
    return devices or min(1, sum(most.values()))
