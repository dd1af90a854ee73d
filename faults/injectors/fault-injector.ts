/** Faults that can be injected into the nodes of a deployment, whichever platform runs them. */
import { messageOf } from "../../lib/errors";
import type { Connection } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import type { FormationOptions } from "../../valkey/membership/deadline";
import type { DeploymentNode, Endpoint } from "../../valkey/node";
import type { Shape } from "../../valkey/topology/placement";
import type { PreconditionCheck } from "./preconditions";

/** How nodes start again. */
export interface StartOptions {
  readonly newAddresses: boolean;
  /** The directory of other programs, for an upgrade. */
  readonly home?: string | undefined;
  /** The primary to follow, in replication mode. */
  readonly follows?: string | undefined;
}

export interface FaultInjector {
  /** The deployment with its current addresses. */
  readonly deployment: Deployment;
  readonly nodes: () => readonly DeploymentNode[];
  /** Whether a replica can become the primary by a hand-over and remain it. */
  readonly supportsHandOver: boolean;
  /** Whether nodes that return at other addresses find each other without this program. */
  readonly rediscoversPeers: boolean;
  /** Opens a client's connection. @throws Failure when the node cannot be reached in time */
  readonly dial: (endpoint: Endpoint, timeoutMs: number) => Promise<Connection>;
  readonly unmetPrecondition: PreconditionCheck;
  /** SIGKILL, or what the platform has that comes closest. @returns once the nodes have ended */
  readonly kill: (nodes: readonly string[]) => Promise<void>;
  /** Ends a node in an orderly way. @returns once it has ended */
  readonly terminate: (node: string) => Promise<void>;
  /** Starts nodes that have ended, with their data. */
  readonly start: (nodes: readonly string[], options: StartOptions) => Promise<void>;
  readonly freeze: (nodes: readonly string[]) => Promise<void>;
  readonly thaw: (nodes: readonly string[]) => Promise<void>;
  /** Partitions the network between these nodes and all others. */
  readonly cut: (nodes: readonly string[]) => Promise<void>;
  /** Heals the cut, where there is one. @throws Failure when it cannot be healed; `restore` then tries again */
  readonly healCut: () => Promise<void>;
  readonly fillDisk: (nodes: readonly string[]) => Promise<void>;
  readonly freeDisk: (nodes: readonly string[]) => Promise<void>;
  readonly resize: (to: Shape, options: FormationOptions) => Promise<void>;
  /** Sets the directives that nodes start with from now on. */
  readonly setStartupDirectives: (directives: ReadonlyMap<string, string>) => void;
  /**
   * Heals every fault that is not healed yet. Never throws. @returns why a fault could not be healed; the next call
   * tries again
   */
  readonly restore: () => Promise<readonly string[]>;
}

/** Calls every function, also after one that failed. @returns the messages of those that failed */
export async function attemptAll(...functions: readonly (() => Promise<void> | void)[]): Promise<string[]> {
  const failures: string[] = [];
  for (const attempt of functions) {
    try {
      await attempt();
    } catch (error) {
      failures.push(messageOf(error));
    }
  }
  return failures;
}
