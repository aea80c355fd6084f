"""What is known of the images that TensorFlow publishes as tensorflow/tensorflow."""

import re

_OFFICIAL = re.compile(r"(?:docker\.io/)?tensorflow/tensorflow(?::(?P<tag>[^@]+))?(?:@.*)?")
_RELEASE = re.compile(r"(\d+)\.(\d+)\.")
_LAST_WITH_ITS_CUDNN = (2, 17)
"""Since 2.18 they hold cuDNN 8, and TensorFlow needs cuDNN 9 (github.com/tensorflow/tensorflow/issues/62412, 94593)."""


def sees_no_gpu(reference: str) -> bool:
    """Whether TensorFlow in this image lists no GPU on any node: False for every image of others.

    A tag without a release, such as latest-gpu, is of a newer one.
    """
    official = _OFFICIAL.fullmatch(reference)
    if official is None:
        return False
    tag = official["tag"] or "latest"
    release = _RELEASE.match(tag)
    is_newer = release is None or (int(release[1]), int(release[2])) > _LAST_WITH_ITS_CUDNN
    return "gpu" not in tag or is_newer
