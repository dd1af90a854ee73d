import { describe, expect, it } from "vitest";
import { LOOPBACK } from "../../../platforms/host/ports";
import { type ServerPlan, serverConfig } from "../../../platforms/host/server-config";

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
  it("has the ping interval for servers that know it, and every other directive for all", () => {
    const told = (product: "valkey" | "redis", version: string): boolean[] =>
      ["cluster-ping-interval", "io-threads"].map((name) =>
        lines(planned({}), PLACE, { product, version }).some((line) => line.startsWith(`${name} `)),
      );
    expect([told("valkey", "8.0.1"), told("valkey", "9.1.2"), told("redis", "8.0.6")]).toEqual([
      [true, true],
      [true, true],
      [true, true],
    ]);
    expect(told("redis", "7.0.15")).toEqual([false, true]);
  });

  it("has the zone that clients are told, for servers that know it", () => {
    const told = (product: "valkey" | "redis", version: string): string[] =>
      lines(planned({ zone: "a" }), PLACE, { product, version }).filter((line) => line.startsWith("availability-zone"));
    expect([told("valkey", "8.0.1"), told("redis", "9.0.0")]).toEqual([[], []]);
    expect([told("valkey", "8.1.1"), told("valkey", "9.1.2")]).toEqual([
      ["availability-zone a"],
      ["availability-zone a"],
    ]);
  });

  it("binds the source address of its links only where the kernel would choose another one", () => {
    expect(lines(planned({}), PLACE, VALKEY).filter((line) => line.startsWith("bind"))).toEqual([`bind ${LOOPBACK}`]);
    expect(lines(planned({ host: "127.0.1.4" }), PLACE, VALKEY).filter((line) => line.startsWith("bind"))).toEqual([
      "bind 127.0.1.4",
      "bind-source-addr 127.0.1.4",
    ]);
  });

  it("has a bus port in cluster mode only, and the product's name for the primary's password", () => {
    expect(lines(planned({}), PLACE, VALKEY)).toEqual(
      expect.arrayContaining([
        "cluster-enabled yes",
        "cluster-port 7001",
        "primaryauth secret",
        "dir /run/a/data",
        "logfile /run/a/log",
      ]),
    );
    const follower = lines(
      planned({ cluster: false, replicaOf: { host: LOOPBACK, port: 7005 }, directives: new Map() }),
      PLACE,
      { product: "redis", version: "8.0.6" },
    );
    expect(follower).toEqual(expect.arrayContaining(["masterauth secret", `replicaof ${LOOPBACK} 7005`]));
    expect(follower.filter((line) => /^(cluster|primaryauth)/.test(line))).toEqual([]);
  });
});
