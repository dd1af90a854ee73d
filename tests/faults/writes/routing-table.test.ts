import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { RoutingTable } from "../../../faults/writes/routing-table";
import type { Connection } from "../../../valkey/connection";

const endpoint = { host: "slow", port: 6379 };

describe("the routes of a client", () => {
  it("know the primary at the start although the first connection takes longer than a refresh", async () => {
    const dial = async (): Promise<Connection> => {
      await sleep(400);
      return {
        status: "ready",
        disconnect: () => undefined,
        info: async () => Promise.resolve("# Replication\r\nrole:master\r\nconnected_slaves:2\r\n"),
      } as unknown as Connection;
    };
    const node = { name: "slow", endpoint, zone: undefined, machine: "" };
    const routes = new RoutingTable("replication", () => [node], dial);
    await routes.open();
    expect(routes.owner(0)).toEqual(endpoint);
    routes.close();
  });
});
