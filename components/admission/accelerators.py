"""Names of accelerators among the resources that pods request: those of device plugins, and device classes.

tests/unit/admission/test_accelerators.py has the source of each name.
"""

import re

_ACCELERATORS = (
    # Domains with nothing but accelerators, then devices of domains that have others too.
    r"(?i)^(([^/]+\.)?(nvidia|amd|gpu\.intel|huawei|cambricon|hygon|enflame|metax-tech|mthreads|kunlunxin)\.com/.+"
    r"|([^/]+\.)?(iluvatar|tenstorrent|vastaitech|directx\.microsoft|[nv]pu\.intel|cloud-tpus\.google)\.com/.+"
    r"|([^/]+\.)?(habana|furiosa|rebellions|iluvatar|graphcore|sambanova|hyperaccel|moffett|hailo)\.ai/.+"
    r"|qualcomm\.com/qaic.*|alibabacloud\.com/ppu.*|ibm\.com/(spyre|aiu).*"
    # A DeviceClass of dynamic resource allocation, by its name.
    r"|deviceclass\.resource\.kubernetes\.io/.+"
    # Whatever the vendor.
    r"|[^/]+/([^/]*(gpu|nvidia|cuda|neuron|gaudi)|([^/]*[^a-z/])?(tpu|npu|xpu|dcu|mlu|mig-)).*"
    r"|[^/]+/([^/]*[^a-z/])?(ipu|lpu|rdu|wse)([^a-z].*)?)$"
)
_INTERFACES = r"(?i)^([^/]+\.)?(nvidia\.com/(hostdev|.*(rdma|sriov).*)|amd\.com/v?nic)$"
"""Network interfaces in the domains of accelerators."""


def is_accelerator(resource: str) -> bool:
    """Whether a resource in `requests`, `limits` or `overhead` is an accelerator."""
    return bool(re.search(_ACCELERATORS, resource)) and not re.search(_INTERFACES, resource)


def in_cel(resource: str) -> str:
    """The same in CEL, whose patterns are RE2's. `resource`: an expression for the name."""
    return f"{resource}.matches(r'{_ACCELERATORS}') && !{resource}.matches(r'{_INTERFACES}')"
