"""GPU support of the images tensorflow/tensorflow."""

import re

_OFFICIAL = re.compile(r"(?:docker\.io/)?tensorflow/tensorflow(?::(?P<tag>[^@]+))?(?:@.*)?")
_RELEASE = re.compile(r"(\d+)\.(\d+)\.")
_LAST_WITH_ITS_CUDNN = (2, 17)
"""Since 2.18 they have cuDNN 8; TensorFlow requires cuDNN 9 (github.com/tensorflow/tensorflow/issues/62412, 94593)."""


def is_official(reference: str) -> bool:
    """Whether this is TensorFlow's own image."""
    return _OFFICIAL.fullmatch(reference) is not None


def sees_no_gpu(reference: str) -> bool:
    """Whether TensorFlow in this image cannot use GPUs; False for images of other publishers.

    A tag without a release, such as latest-gpu, counts as a newer one.
    """
    official = _OFFICIAL.fullmatch(reference)
    if official is None:
        return False
    tag = official["tag"] or "latest"
    release = _RELEASE.match(tag)
    is_newer = release is None or (int(release[1]), int(release[2])) > _LAST_WITH_ITS_CUDNN
    return "gpu" not in tag or is_newer
