// To deploy the cluster: pulumi package add ../../components/plugin; pulumi config set --path 'zones[0]' us-west-2a (then zones[1],
// zones[2]); pulumi up
package main

import (
	"example.com/pulumi-valkey/sdk/go/valkey"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		var zones []string
		config.RequireObject(ctx, "zones", &zones)
		orders, err := valkey.NewValkeyCluster(ctx, "orders", &valkey.ValkeyClusterArgs{
			Shape:    valkey.ShapeArgs{Primaries: 3, ReplicasPerPrimary: 1},
			Zones:    zones,
			Settings: map[string]interface{}{"maxmemory-policy": "allkeys-lru"},
		})
		if err != nil {
			return err
		}
		ctx.Export("url", orders.Url)
		ctx.Export("verified", orders.Topology.Verdict().Pass())
		return nil
	})
}
