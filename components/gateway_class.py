"""The GatewayClass of the Traefik that a stack installs."""

GATEWAY_CLASS = "traefik"
