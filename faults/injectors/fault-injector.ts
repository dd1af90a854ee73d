import { messageOf } from "../../lib/errors";
import type { Connection } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import type { FormationOptions } from "../../valkey/membership/deadline";
import type { DeploymentNode, Endpoint } from "../../valkey/node";
import type { Shape } from "../../valkey/topology/placement";
import type { PreconditionCheck } from "./preconditions";

interface StartOptions {
  readonly newAddresses: boolean;
  /** For an upgrade: the directory of the programs to start. */
  readonly home?: string | undefined;
  readonly follows?: string | undefined;
}

export interface FaultInjector {
  readonly deployment: Deployment;
  readonly nodes: () => readonly DeploymentNode[];
  /** Whether a replica that a hand-over has made the primary stays the primary. */
  readonly supportsHandOver: boolean;
  /** Whether nodes that return with different addresses find each other by themselves. */
  readonly rediscoversPeers: boolean;
  /** Opens a connection as a client would. @throws Failure when the node cannot be reached in time */
  readonly dial: (endpoint: Endpoint, timeoutMs: number) => Promise<Connection>;
  readonly unmetPrecondition: PreconditionCheck;
  /** SIGKILL, or what is most like it on the platform. @returns when the nodes have ended */
  readonly kill: (nodes: readonly string[]) => Promise<void>;
  readonly terminate: (node: string) => Promise<void>;
  readonly start: (nodes: readonly string[], options: StartOptions) => Promise<void>;
  readonly freeze: (nodes: readonly string[]) => Promise<void>;
  readonly thaw: (nodes: readonly string[]) => Promise<void>;
  readonly cut: (nodes: readonly string[]) => Promise<void>;
  /** @throws Failure if the cut cannot be healed; `restore` tries again later */
  readonly healCut: () => Promise<void>;
  readonly fillDisk: (nodes: readonly string[]) => Promise<void>;
  readonly freeDisk: (nodes: readonly string[]) => Promise<void>;
  readonly resize: (to: Shape, options: FormationOptions) => Promise<void>;
  readonly setStartupDirectives: (directives: ReadonlyMap<string, string>) => void;
  /** Never throws. @returns reasons why faults could not be healed; the next call tries again */
  readonly restore: () => Promise<readonly string[]>;
}

/** Calls every function, even if some of them fail. @returns the messages of the functions that failed */
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
