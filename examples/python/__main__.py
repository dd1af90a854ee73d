"""To deploy the cluster: pulumi package add ../../components/plugin; pulumi config set --path 'zones[0]' us-west-2a (then zones[1],
zones[2]); pulumi up
"""

import pulumi
import pulumi_valkey as valkey

config = pulumi.Config()
orders = valkey.ValkeyCluster(
    "orders",
    namespace=config.get("namespace"),
    shape={"primaries": 3, "replicas_per_primary": 1},
    zones=config.require_object("zones"),
    settings={"maxmemory-policy": "allkeys-lru"},
)

pulumi.export("url", orders.url)
pulumi.export("verified", orders.topology.verdict.pass_)
