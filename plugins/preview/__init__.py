"""A preview-only resource provider for clouds: it checks inputs against the SDK's types, without the cloud."""
