/** Clusters of real servers that tests resize. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { DeploymentNode } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import type { FormationOptions } from "../../../valkey/membership/deadline";
import { form } from "../../../valkey/formation/form";
import type { Programs } from "../../../platforms/host/programs/programs";
import type { ServerSettings } from "../../../valkey/settings/settings";
import type { Shape } from "../../../valkey/topology/placement";
import { countSlots } from "../../../valkey/topology/slots";
import { verify } from "../../../valkey/verification/verify";
import { never, Sandbox, withNode } from "./real";
import type { ResizeOrder } from "./resize-child";

export const shape = (primaries: number, replicasPerPrimary: number): Shape => ({ primaries, replicasPerPrimary });

/** A cluster that is formed with three primaries and three replicas, and can be resized. */
export class ResizableCluster {
  private constructor(
    readonly sandbox: Sandbox,
    public deployment: Deployment,
  ) {}

  static async start(programs: Programs, settings: ServerSettings = {}): Promise<ResizableCluster> {
    const sandbox = await Sandbox.open(programs);
    const deployment = await sandbox.cluster("cluster", 3, 1, settings);
    await form(deployment, shape(3, 1));
    return new ResizableCluster(sandbox, deployment);
  }

  async resizeTo(wanted: Shape, options: FormationOptions = {}): Promise<void> {
    this.deployment = await this.sandbox.host.resize(this.deployment, wanted, options, never);
  }

  /** The assertions that fail, and whether the shares of slots are uneven. */
  async violations(deployment = this.deployment): Promise<string[]> {
    const { verdict } = await verify(deployment);
    const sizes = verdict.shards.map(({ slots }) => countSlots(slots));
    const uneven = Math.max(...sizes) - Math.min(...sizes) > 1 ? [`shares of ${sizes.join(", ")} slots`] : [];
    return [...verdict.assertions.flatMap(({ id, pass, found }) => (pass ? [] : [`${id}: ${found}`])), ...uneven];
  }

  /** Every node's CLUSTER NODES, without the times of the last pings. */
  async views(deployment = this.deployment): Promise<string[]> {
    return Promise.all(
      deployment.nodes.map((_node, index) =>
        withNode(deployment, index, async (connection) =>
          String(await connection.cluster("NODES")).replaceAll(/ \d+ \d+ (?=\d+ connected)/g, " "),
        ),
      ),
    );
  }

  index(name: string): number {
    return this.deployment.nodes.findIndex((node) => node.name === name);
  }

  /** The names of the primaries, in slot order. */
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
    const child = spawn(process.execPath, ["--import", "tsx", join(__dirname, "resize-child.ts")], {
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

/** Options of a formation that is stopped at its first line of progress that matches. */
export function optionsInterruptedAt(when: RegExp): FormationOptions {
  const stop = new AbortController();
  return {
    signal: stop.signal,
    report: (line) => {
      if (when.test(line)) stop.abort(new Error("interrupted"));
    },
  };
}
