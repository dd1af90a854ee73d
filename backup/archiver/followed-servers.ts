/** Finds the servers of a deployment on Kubernetes by the SRV record of their headless Service. */
import { resolveSrv } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { Failure, messageOf } from "../../lib/errors";
import { type Connection, connect } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode, NodeAccess } from "../../valkey/node";
import type { ArchiverSettings } from "./pod-settings";

type Found = Pick<ArchiverSettings, "deployment" | "mode" | "servers" | "passwordFile" | "caFile">;

export class FollowedServers implements Deployment {
  readonly shape = {};
  readonly directives = new Map<string, string>();
  #nodes: readonly DeploymentNode[] = [];
  #access: NodeAccess = {};

  constructor(private readonly settings: Found) {}

  get name(): string {
    return this.settings.deployment;
  }

  get mode(): Deployment["mode"] {
    return this.settings.mode;
  }

  get nodes(): readonly DeploymentNode[] {
    return this.#nodes;
  }

  get access(): NodeAccess {
    return this.#access;
  }

  readonly connect = (node: DeploymentNode): Promise<Connection> => connect(node.name, node.endpoint, this.#access);

  /** @throws Failure if one of them cannot be read */
  async refresh(): Promise<void> {
    const { servers, passwordFile, caFile } = this.settings;
    const [password, ca] = await Promise.all([
      readFile(passwordFile, "utf8"),
      caFile === undefined ? undefined : readFile(caFile, "utf8"),
    ]);
    this.#access = { password, ...(ca === undefined ? {} : { tls: { ca, insecure: false } }) };
    const records = await resolveSrv(servers).catch((error: unknown) => {
      throw new Failure(`the servers of ${this.name} were not found by DNS (${servers}): ${messageOf(error)}`);
    });
    this.#nodes = nodesOf(records);
  }
}

function nodesOf(records: readonly { readonly name: string; readonly port: number }[]): DeploymentNode[] {
  return records
    .map(({ name: host, port }) => ({
      name: host.split(".")[0] ?? host,
      machine: "",
      zone: undefined,
      endpoint: { host: host.replace(/\.$/, ""), port },
    }))
    .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}
