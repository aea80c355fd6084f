"""A resource provider for clouds that serves previews only: it checks inputs against the SDK's own types, no cloud."""
