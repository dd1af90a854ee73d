/** A cluster of six nodes beside two new servers that no other node knows yet, as a resize that stopped early leaves them. */
import { expect } from "vitest";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { eventually, realPrograms, withNode } from "./real";
import { optionsInterruptedAt, ResizableCluster, shape } from "./resizable-cluster";

/** Longer than what a busy machine needs between two steps: a node that others have forgotten suspects them after it. */
const NODE_TIMEOUT_MS = 10_000;

export class HalfGrownCluster {
  private constructor(
    readonly resizing: ResizableCluster,
    /** The six nodes of the cluster and the two new ones. */
    public all: Deployment,
  ) {}

  static async start(): Promise<HalfGrownCluster> {
    const resizing = await ResizableCluster.start(await realPrograms(), { "cluster-node-timeout": NODE_TIMEOUT_MS });
    return new HalfGrownCluster(resizing, resizing.deployment);
  }

  /** Takes back what an earlier test made, and starts the two new servers. */
  async renew(): Promise<void> {
    const { resizing } = this;
    await resizing.resizeTo(shape(3, 1));
    await expect(resizing.resizeTo(shape(4, 1), optionsInterruptedAt(/./))).rejects.toThrow("interrupted");
    this.all = { ...resizing.deployment, nodes: resizing.sandbox.host.nodes("cluster") };
  }

  at<T>(index: number, use: (connection: Connection) => Promise<T>): Promise<T> {
    return withNode(this.all, index, use);
  }

  ids(): Promise<string[]> {
    return this.#everywhere(async (connection) => String(await connection.call("CLUSTER", "MYID")));
  }

  /** Makes one node meet another. */
  async meet(who: number, whom: number): Promise<void> {
    const node = this.all.nodes[whom];
    const address = [node?.endpoint.host ?? "", node?.endpoint.port ?? 0, node?.busPort ?? 0] as const;
    await this.at(who, (connection) => connection.call("CLUSTER", "MEET", ...address));
  }

  /** Makes all eight nodes meet. @returns their node IDs */
  async meetAll(): Promise<string[]> {
    for (const who of [0, 1, 2, 3, 4, 5]) for (const whom of [6, 7]) await this.meet(who, whom);
    await this.meet(6, 7);
    const texts = (what: "INFO" | "NODES"): Promise<string[]> =>
      this.#everywhere(async (connection) => String(await connection.call("CLUSTER", what)));
    // New nodes serve 2 s later.
    await eventually("all serve", async () => (await texts("INFO")).every((text) => text.includes("cluster_state:ok")));
    await eventually("all know all", async () =>
      (await texts("NODES")).every((text) => text.trim().split("\n").length === 8 && !text.includes("handshake")),
    );
    // Two new primaries have the same epoch until one of them takes another.
    await eventually("no two primaries have the same epoch", async () =>
      (await texts("NODES")).every((text) => {
        const epochs = [...text.matchAll(/ (?:myself,)?master - \d+ \d+ (\d+) /g)].map(([, epoch]) => epoch);
        return new Set(epochs).size === epochs.length;
      }),
    );
    return this.ids();
  }

  close(): Promise<void> {
    return this.resizing.close();
  }

  #everywhere<T>(use: (connection: Connection) => Promise<T>): Promise<T[]> {
    return Promise.all(this.all.nodes.map((_node, index) => this.at(index, use)));
  }
}
