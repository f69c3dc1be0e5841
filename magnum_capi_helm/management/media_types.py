# SPDX-License-Identifier: Apache-2.0

"""What is asked of the Kubernetes API, and sent to it, in which form.

https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

#: Objects without spec, status and data.
METADATA_LIST = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
