/**
 * A test that deploys a Valkey cluster, uses the cluster, and destroys the cluster. To run the test in three zones: npx
 * tsx index.ts ZONE ZONE ZONE
 */
import { LocalWorkspace } from "@pulumi/pulumi/automation";
import { ValkeyCluster } from "valkey-measured";

async function main(zones: readonly string[]): Promise<void> {
  const program = (): Promise<object> => {
    const orders = new ValkeyCluster("orders", { shape: { primaries: 3, replicasPerPrimary: 1 }, zones });
    return Promise.resolve({ url: orders.url, shards: orders.topology.shards });
  };
  const wanted = { stackName: "test", projectName: "orders-test", program };
  const stack = await LocalWorkspace.createOrSelectStack(wanted, { workDir: __dirname });
  try {
    const { outputs } = await stack.up({ onOutput: (text) => process.stdout.write(text) });
    const shards = outputs["shards"]?.value as readonly object[];
    process.stdout.write(`${shards.length} shards serve\n`);
    // Put the test here. Its clients connect to outputs["url"].
  } finally {
    await stack.destroy();
  }
}

void main(process.argv.slice(2));
