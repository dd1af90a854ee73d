import { describe, it } from "vitest";
import { LOOPBACK } from "../../../platforms/host/ports";
import { type ServerPlan, serverConfig } from "../../../platforms/host/server-config";
import { expectReviewed } from "../../support/reviewed";

const PLACE = { directory: "/run/a", dataDirectory: "/run/a/data", port: 7000, busPort: 7001 };
const VALKEY = { product: "valkey", version: "9.1.2" } as const;
const planned = (change: Partial<ServerPlan>): ServerPlan => ({
  deployment: "cluster",
  name: "cluster-0",
  cluster: true,
  host: LOOPBACK,
  password: "secret",
  directives: new Map([
    ["cluster-ping-interval", "300"],
    ["io-threads", "2"],
  ]),
  ...change,
});
const lines = (...args: Parameters<typeof serverConfig>): string[] =>
  serverConfig(...args)
    .trimEnd()
    .split("\n");

describe("a server's configuration on this machine", () => {
  it("has what the server's version knows, and a source address where the kernel would choose another one", async () => {
    const [valkey, redis] = (["valkey", "redis"] as const).map((product) => (version: string): [string, string[]] => [
      `${product} ${version}`,
      lines(planned({ zone: "a" }), PLACE, { product, version }),
    ]);
    if (valkey === undefined || redis === undefined) throw new Error("no products");
    const follower = planned({ cluster: false, replicaOf: { host: LOOPBACK, port: 7005 }, directives: new Map() });
    await expectReviewed("platforms/server-configurations", "Configurations of servers on this machine.", [
      ...["8.0.1", "8.1.1", "9.1.2"].map(valkey),
      ...["7.0.15", "8.0.6", "9.0.0"].map(redis),
      ["another address", lines(planned({ host: "127.0.1.4" }), PLACE, VALKEY)],
      ["a replica of Redis", lines(follower, PLACE, { product: "redis", version: "8.0.6" })],
    ]);
  });
});
