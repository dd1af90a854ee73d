import { randomInt } from "node:crypto";
import type { Mode } from "../../valkey/node";
import { type SentinelSettings, placeSentinels } from "../../valkey/sentinel-config";
import { type ServerSettings, toDirectives } from "../../valkey/settings/settings";
import type { PlacedNode, Shape } from "../../valkey/topology/placement";
import { nodeCount, placeAddedNodes, rotateOverZones, spreadOverZones } from "../../valkey/topology/placement";
import { LOOPBACK } from "./ports";
import type { ServerPlan } from "./server-config";
import type { PlacedServer } from "./server-records";

/** A deployment to create on this machine. */
export interface HostDeploymentPlan {
  readonly name: string;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly settings: ServerSettings;
  /** Password of the servers. @default a new one */
  readonly password?: string | undefined;
  /** Names of zones. They are only labels of nodes, because a single machine has no real zones. */
  readonly zones: readonly string[];
  /** Whether each zone has its own loopback address, so that faults can partition zones. Needs Linux. @default false */
  readonly zoneAddresses?: boolean | undefined;
  /**
   * Size of a separate file system for each server's data, bytes. Needs root.
   * @default the run directory's file system
   */
  readonly diskBytes?: number | undefined;
  /** Sentinels that promote a replica when the primary fails, in replication mode. @default no Sentinels */
  readonly sentinel?: SentinelSettings | undefined;
  /** CPUs that each node may use, in the order of the nodes. @default all CPUs */
  readonly cpus?: readonly string[] | undefined;
}

export interface PlacedServerPlan {
  readonly plan: ServerPlan;
  readonly zone: string;
}

/** Set explicitly, so that formation, which changes the timeout temporarily, restores this value. */
const DEFAULT_NODE_TIMEOUT = "15000";

export function hostDirectives({ mode, settings }: HostDeploymentPlan): Map<string, string> {
  const wanted = toDirectives(settings);
  if (mode === "cluster" && !wanted.has("cluster-node-timeout")) {
    wanted.set("cluster-node-timeout", DEFAULT_NODE_TIMEOUT);
  }
  return wanted;
}

export function planServers(
  plan: HostDeploymentPlan,
  password: string,
): { readonly servers: readonly PlacedServerPlan[]; readonly sentinels: readonly PlacedServerPlan[] } {
  const { name: deployment, mode, shape, zones, diskBytes, cpus, sentinel } = plan;
  const names = Array.from({ length: nodeCount(shape) }, (_, index) => `${deployment}-${index}`);
  const nodes = mode === "cluster" ? rotateOverZones(names, shape, zones) : spreadOverZones(names, zones);
  const watchers = sentinel === undefined ? [] : placeSentinels(deployment, sentinel, zones);
  const hosts = plan.zoneAddresses === true ? zoneAddresses(zones) : new Map<string, string>();
  const directives = hostDirectives(plan);
  const common = ({ name, zone }: PlacedNode): Pick<ServerPlan, "deployment" | "name" | "host" | "password"> => ({
    deployment,
    name,
    host: hosts.get(zone) ?? LOOPBACK,
    password,
  });
  return {
    servers: nodes.map((node, index) => ({
      plan: {
        ...common(node),
        cluster: mode === "cluster",
        zone: node.zone,
        directives,
        diskBytes,
        cpus: cpus?.[index],
      },
      zone: node.zone,
    })),
    sentinels: watchers.map((node) => ({
      plan: { ...common(node), cluster: false, sentinel: true, directives: new Map() },
      zone: node.zone,
    })),
  };
}

export function planAddedServers(
  deployment: string,
  present: readonly PlacedServer[],
  shape: Shape,
  zones: readonly string[],
): PlacedServerPlan[] {
  const [model] = present;
  if (model === undefined) throw new Error(`${deployment} has no servers to be resized`);
  const count = Math.max(0, nodeCount(shape) - present.length);
  const names = Array.from({ length: count }, (_, index) => `${deployment}-${present.length + index}`);
  const occupied = present.map(({ zone }) => zone);
  const hostOf = (zone: string): string => (present.find((each) => each.zone === zone) ?? model).server.plan.host;
  return placeAddedNodes(names, occupied, shape, zones).map(({ name, zone }) => ({
    plan: { ...model.server.plan, name, host: hostOf(zone), zone },
    zone,
  }));
}

/** Two runs rarely get the same addresses, so a partition of zones in one does not affect others. */
function zoneAddresses(zones: readonly string[]): Map<string, string> {
  const [high, low] = [randomInt(1, 255), randomInt(1, 255)];
  return new Map(zones.map((zone, index) => [zone, `127.${high}.${low}.${index + 1}`]));
}
