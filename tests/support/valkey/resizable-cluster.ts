/** Clusters of real servers that tests resize. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import type { DeploymentNode } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import type { FormationOptions } from "../../../valkey/membership/deadline";
import type { Programs } from "../../../platforms/host/programs/programs";
import type { ServerSettings } from "../../../valkey/settings/settings";
import type { Shape } from "../../../valkey/topology/placement";
import { countSlots } from "../../../valkey/topology/slots";
import { verify } from "../../../valkey/verification/verify";
import { compiledProgram } from "../../runner/compile-programs";
import { callNode, failing, never, Sandbox } from "./real";
import type { ResizeOrder } from "./resize-child";

export const shape = (primaries: number, replicasPerPrimary: number): Shape => ({ primaries, replicasPerPrimary });

export class ResizableCluster {
  readonly sandbox = new Sandbox();
  #deployment: Deployment | undefined;

  async open(settings: ServerSettings = {}, programs?: Programs): Promise<void> {
    await this.sandbox.open(programs);
    this.#deployment = await this.sandbox.formedCluster("cluster", 3, 1, settings);
  }

  get deployment(): Deployment {
    if (this.#deployment === undefined) throw new Error("the cluster is not open");
    return this.#deployment;
  }

  async resizeTo(wanted: Shape, options: FormationOptions = {}): Promise<void> {
    this.#deployment = await this.sandbox.host.resize(this.deployment, wanted, options, never);
  }

  async violations(deployment = this.deployment): Promise<string[]> {
    const { shards } = (await verify(deployment)).verdict;
    const sizes = shards.map(({ slots }) => countSlots(slots));
    const uneven = Math.max(...sizes) - Math.min(...sizes) > 1 ? [`shares of ${sizes.join(", ")} slots`] : [];
    return [...(await failing(deployment)), ...uneven];
  }

  async resizeInterrupted(wanted: Shape, when: RegExp): Promise<void> {
    await expect(this.resizeTo(wanted, optionsInterruptedAt(when))).rejects.toThrow("interrupted");
  }

  async mark(
    place: number,
    slot: number,
    state: "IMPORTING" | "MIGRATING",
    peer: number,
    deployment = this.deployment,
  ): Promise<void> {
    const id = String(await callNode(deployment, peer, "CLUSTER", "MYID"));
    await callNode(deployment, place, "CLUSTER", "SETSLOT", slot, state, id);
  }

  async moveKey(key: string, from: number, to: number, deployment = this.deployment): Promise<void> {
    const { host, port } = deployment.nodes[to]?.endpoint ?? { host: "", port: 0 };
    const { password = "" } = deployment.access;
    await callNode(deployment, from, "MIGRATE", host, port, key, 0, 5000, "AUTH", password);
  }

  index(name: string): number {
    return this.deployment.nodes.findIndex((node) => node.name === name);
  }

  async primaries(): Promise<string[]> {
    return (await verify(this.deployment)).verdict.shards.map(({ primary }) => primary ?? "");
  }

  /**
   * Resizes in a child process, which is killed `delayMs` after its first line that matches.
   * @returns whether it was killed before it ended
   */
  async resizeKilled(
    wanted: Shape,
    nodes: readonly DeploymentNode[],
    leaving: readonly DeploymentNode[],
    when: RegExp,
    delayMs: number,
  ): Promise<boolean> {
    const order: ResizeOrder = {
      directives: Object.fromEntries(this.deployment.directives),
      name: "cluster",
      nodes,
      leaving,
      password: this.deployment.access.password ?? "",
      shape: wanted,
    };
    const child = spawn(process.execPath, [compiledProgram("tests/support/valkey/resize-child.ts")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    child.stdin.end(JSON.stringify(order));
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (when.test(line)) setTimeout(() => child.kill("SIGKILL"), delayMs);
    }
    return !lines.includes("done");
  }

  close(): Promise<void> {
    return this.sandbox.close();
  }
}

export function optionsInterruptedAt(when: RegExp): FormationOptions {
  const stop = new AbortController();
  return {
    signal: stop.signal,
    report: (line) => {
      if (when.test(line)) stop.abort(new Error("interrupted"));
    },
  };
}
