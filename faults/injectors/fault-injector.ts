/** What can be done to the nodes of a deployment, by whoever runs them. */
import type { Connection } from "../../valkey/connection";
import type { DeploymentNode, Endpoint } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { messageOf } from "../../lib/errors";
import type { FormationOptions } from "../../valkey/formation/deadline";
import type { Shape } from "../../valkey/topology/placement";
import type { PreconditionCheck } from "./preconditions";

export interface FaultInjector {
  /** As it is now: nodes that came back elsewhere are there. */
  readonly deployment: Deployment;
  readonly nodes: () => readonly DeploymentNode[];
  /** Whether a replica can be made primary by an orderly hand-over and stay it. */
  readonly supportsHandOver: boolean;
  /** Whether nodes that come back at other addresses find each other by themselves. */
  readonly rediscoversPeers: boolean;
  /** A connection of a client's. @throws Failure when there is no way to the node in time */
  readonly dial: (endpoint: Endpoint, timeoutMs: number) => Promise<Connection>;
  /** Why a scenario cannot be carried out here. */
  readonly unmetPrecondition: PreconditionCheck;
  /** SIGKILL, or what comes nearest. Returns when they have ended. */
  readonly kill: (nodes: readonly string[]) => Promise<void>;
  /** Asks a node to end, and returns when it has. */
  readonly terminate: (node: string) => Promise<void>;
  /** Starts nodes that have ended, with the data they had. `follows`: the primary, in replication mode. */
  readonly start: (
    nodes: readonly string[],
    options: {
      readonly newAddresses: boolean;
      readonly home?: string | undefined;
      readonly follows?: string | undefined;
    },
  ) => Promise<void>;
  readonly freeze: (nodes: readonly string[]) => Promise<void>;
  readonly thaw: (nodes: readonly string[]) => Promise<void>;
  /** Cuts these nodes off from all others. */
  readonly cut: (nodes: readonly string[]) => Promise<void>;
  /** Heals the cut, where there is one. @throws Failure when it cannot be healed; it is kept, for `restore` */
  readonly healCut: () => Promise<void>;
  readonly fillDisk: (nodes: readonly string[]) => Promise<void>;
  readonly freeDisk: (nodes: readonly string[]) => Promise<void>;
  readonly resize: (to: Shape, options: FormationOptions) => Promise<void>;
  /** Directives that nodes have when they are started again. */
  readonly setStartupDirectives: (directives: ReadonlyMap<string, string>) => void;
  /** Takes back whatever is not healed yet, as far as it can be. @returns why something could not be taken back; called again, that is tried again. Never throws. */
  readonly restore: () => Promise<readonly string[]>;
}

/** Does each, also after one that failed. @returns why some did */
export async function attemptAll(...deeds: readonly (() => Promise<void> | void)[]): Promise<string[]> {
  const failures: string[] = [];
  for (const deed of deeds) {
    try {
      await deed();
    } catch (error) {
      failures.push(messageOf(error));
    }
  }
  return failures;
}
