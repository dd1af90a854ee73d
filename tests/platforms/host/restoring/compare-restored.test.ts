/** The servers that are compared with each set. */
import { expect, it } from "vitest";
import { serversOf } from "../../../../platforms/host/restoring/compare-restored";
import type { DeploymentNode } from "../../../../valkey/node";

const node = (name: string): DeploymentNode => ({ name, endpoint: { host: "127.0.0.1", port: 1 } }) as DeploymentNode;
const nodes = ["restored-0", "restored-1", "restored-2"].map(node);

it("are the primary of the set and its replicas, and never none", () => {
  const shards = [{ primary: "restored-0", replicas: ["restored-2"], slots: [] }];
  expect(serversOf({ nodes }, shards, 0).map(({ name }) => name)).toEqual(["restored-0", "restored-2"]);
  expect(() => serversOf({ nodes }, shards, 1)).toThrow("shard 1 cannot be compared: restored-1 is not a primary");
  expect(() => serversOf({ nodes }, shards, 9)).toThrow(/cannot be compared/);
});
