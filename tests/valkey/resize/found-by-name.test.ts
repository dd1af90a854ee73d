import { describe, expect, it } from "vitest";
import { type Connection } from "../../../valkey/connection";
import { describeUnfound } from "../../../valkey/resize/resize-executor";

const member = (type: readonly string[], seconds: number) => ({
  node: { name: "shop-0", endpoint: { host: "10.0.0.1", port: 6379 }, zone: undefined, machine: "" },
  connection: {
    config: () => Promise.resolve(type),
    info: () => Promise.resolve(`uptime_in_seconds:${seconds}\r\n`),
  } as unknown as Connection,
});
const names = ["cluster-preferred-endpoint-type", "hostname"];
const addresses = ["cluster-preferred-endpoint-type", "ip"];

describe("clients may not find a node that is to serve them", () => {
  it("by its name in the first ten seconds", async () => {
    expect(await describeUnfound(member(names, 9))).toBe(
      "clients may not find shop-0 by its name yet, 9 s after its start",
    );
    expect(await describeUnfound(member(names, 10))).toBeUndefined();
  });

  it("but find it by its address, and where servers know no such setting", async () => {
    expect(await describeUnfound(member(addresses, 0))).toBeUndefined();
    expect(await describeUnfound(member([], 0))).toBeUndefined();
  });
});
