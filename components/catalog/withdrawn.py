"""Withdrawn accelerators and machines with their successors, for a message about old settings."""

from collections.abc import Mapping

from tensorplane.components.catalog.rows import Withdrawn

_K80 = "cloud.google.com/compute/docs/eol/k80-eol; learn.microsoft.com/azure/virtual-machines/n-series-migration"
_EKS_P2 = "awsdocs/amazon-eks-user-guide@4d52b4d kubernetes-versions-extended.adoc"
_KARPENTER = "aws/karpenter-provider-aws@1d92708 instance-types.md (2026-08-21) lists it no longer"
_N_SERIES = "learn.microsoft.com/azure/virtual-machines/n-series-migration: NC, NCv2 and ND ended on 2023-08-31"
_NCV3 = "MicrosoftDocs/azure-compute-docs@1827cf3 ncv3-series.md: retired on 2025-09-30"
_NVV3 = "MicrosoftDocs/azure-compute-docs nv-series.md, nvv3-series-retirement.md"
_NVV4 = "MicrosoftDocs/azure-compute-docs@0bdc5d3 retired-sizes-list.md: NVv4 ended on 2026-09-30"
_TPU = "cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus: GKE's TPUs begin with v3"

_ROWS = (
    Withdrawn("k520", "t4", "compute capability 3.0; AWS G2 left EKS's machine types", _KARPENTER),
    Withdrawn("k80", "t4", "end of life on every cloud, and TensorFlow requires compute capability 6.0", _K80),
    Withdrawn("m60", "t4", "compute capability 5.2, but TensorFlow requires 6.0", _KARPENTER),
    Withdrawn("p40", "t4", "Azure's ND series ended on 2023-08-31", _N_SERIES),
    Withdrawn("tpu-v2", "tpu-v5e", "GKE has no node pools with it", _TPU),
)

WITHDRAWN: Mapping[str, Withdrawn] = {row.name: row for row in _ROWS}
"""Accelerators that no cloud offers any more."""

_P2 = "K80, which EKS does not run and TensorFlow cannot use"
_P3 = "V100 16 GB, gone from EKS's machine types"
_G3 = "M60, gone from EKS's machine types"
_G2 = "K520, gone from EKS's machine types"
_EKS = (
    ("p2.xlarge", "g4dn.xlarge", _P2, _EKS_P2),
    ("p2.8xlarge", "g4dn.12xlarge", _P2, _EKS_P2),
    ("p2.16xlarge", "g5.48xlarge", _P2, _EKS_P2),
    ("p3.2xlarge", "g6e.xlarge", _P3, _KARPENTER),
    ("p3.8xlarge", "g6e.12xlarge", _P3, _KARPENTER),
    ("p3.16xlarge", "p4d.24xlarge", _P3, _KARPENTER),
    ("g3s.xlarge", "g4dn.xlarge", _G3, _KARPENTER),
    ("g3.4xlarge", "g4dn.4xlarge", _G3, _KARPENTER),
    ("g3.8xlarge", "g4dn.12xlarge", _G3, _KARPENTER),
    ("g3.16xlarge", "g4dn.12xlarge", _G3, _KARPENTER),
    ("g2.2xlarge", "g4dn.2xlarge", _G2, _KARPENTER),
    ("g2.8xlarge", "g4dn.12xlarge", _G2, _KARPENTER),
)
_NC = "K80, ended on 2023-08-31"
_NC_V2 = "P100, ended on 2023-08-31"
_ND = "P40, ended on 2023-08-31"
_NC_V3 = "V100, ended on 2025-09-30"
_NV = "M60, which TensorFlow cannot use"
_NV_V4 = "AMD MI25, ended on 2026-09-30"
_AKS = (
    ("Standard_NC6", "Standard_NC4as_T4_v3", _NC, _N_SERIES),
    ("Standard_NC12", "Standard_NC8as_T4_v3", _NC, _N_SERIES),
    ("Standard_NC24", "Standard_NC64as_T4_v3", _NC, _N_SERIES),
    ("Standard_NC24r", "Standard_NC64as_T4_v3", _NC, _N_SERIES),
    ("Standard_NC6s_v2", "Standard_NC8as_T4_v3", _NC_V2, _N_SERIES),
    ("Standard_NC12s_v2", "Standard_NC24ads_A100_v4", _NC_V2, _N_SERIES),
    ("Standard_NC24s_v2", "Standard_NC48ads_A100_v4", _NC_V2, _N_SERIES),
    ("Standard_NC24rs_v2", "Standard_NC48ads_A100_v4", _NC_V2, _N_SERIES),
    ("Standard_ND6s", "Standard_NC8as_T4_v3", _ND, _N_SERIES),
    ("Standard_ND12s", "Standard_NC24ads_A100_v4", _ND, _N_SERIES),
    ("Standard_ND24s", "Standard_NC48ads_A100_v4", _ND, _N_SERIES),
    ("Standard_ND24rs", "Standard_NC48ads_A100_v4", _ND, _N_SERIES),
    ("Standard_NC6s_v3", "Standard_NC24ads_A100_v4", _NC_V3, _NCV3),
    ("Standard_NC12s_v3", "Standard_NC48ads_A100_v4", _NC_V3, _NCV3),
    ("Standard_NC24s_v3", "Standard_NC96ads_A100_v4", _NC_V3, _NCV3),
    ("Standard_NC24rs_v3", "Standard_NC96ads_A100_v4", _NC_V3, _NCV3),
    ("Standard_NV6", "Standard_NC4as_T4_v3", _NV, _NVV3),
    ("Standard_NV12", "Standard_NC8as_T4_v3", _NV, _NVV3),
    ("Standard_NV24", "Standard_NC64as_T4_v3", _NV, _NVV3),
    ("Standard_NV12s_v3", "Standard_NC8as_T4_v3", _NV, _NVV3),
    ("Standard_NV24s_v3", "Standard_NC64as_T4_v3", _NV, _NVV3),
    ("Standard_NV48s_v3", "Standard_NC64as_T4_v3", _NV, _NVV3),
    ("Standard_NV4as_v4", "Standard_NC4as_T4_v3", _NV_V4, _NVV4),
    ("Standard_NV8as_v4", "Standard_NC8as_T4_v3", _NV_V4, _NVV4),
    ("Standard_NV16as_v4", "Standard_NC16as_T4_v3", _NV_V4, _NVV4),
    ("Standard_NV32as_v4", "Standard_NV36ads_A10_v5", _NV_V4, _NVV4),
)

WITHDRAWN_MACHINES: Mapping[str, Withdrawn] = {row[0]: Withdrawn(*row) for row in (*_EKS, *_AKS)}
"""Machine types that are withdrawn, or that no node image of EKS or AKS supports."""
