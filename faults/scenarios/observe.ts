import { randomBytes } from "node:crypto";
import { DeploymentObserver } from "../observation/deployment-observer";
import type { FaultInjector } from "../injectors/fault-injector";
import type { Dialer } from "../writes/connection-pool";
import { WriteClient } from "../writes/write-client";
import type { FaultContext } from "../actions/fault-context";
import type { PreparedScenario } from "./prepare";
import type { ScenarioRun } from "./scenario-run";

const POLL_MS = 20;

/** Its time `atMs` is in milliseconds of performance.now. */
export interface ScenarioEvent {
  readonly atMs: number;
  readonly what: string;
}

export interface ScenarioObservation {
  readonly client: WriteClient;
  readonly observer: DeploymentObserver;
  readonly events: readonly ScenarioEvent[];
  readonly context: FaultContext;
}

export function createObservation(run: ScenarioRun, { before }: PreparedScenario): ScenarioObservation {
  const { injector, scenario, shape, signal, report } = run;
  const { mode } = injector.deployment;
  const { load } = scenario;
  const target = {
    mode,
    shards: before.verdict.shards.map(({ slots }) => slots),
    nodes: injector.nodes,
    dial: clientDialer(injector, load.timeoutMs + load.acknowledgement.timeoutMs),
  };
  const client = new WriteClient(target, load, `break:${randomBytes(3).toString("hex")}:`);
  const expected = { mode, ...shape };
  const observer = new DeploymentObserver(() => expected, injector.nodes, clientDialer(injector, load.timeoutMs));
  const events: ScenarioEvent[] = [];
  const logEvent = (what: string): void => {
    events.push({ atMs: performance.now(), what });
    report(`${scenario.name}: ${what}`, true);
  };
  const timeoutMs = scenario.recoveryTimeoutSeconds * 1000;
  const context = { injector, observer, shape, signal, timeoutMs, intervalMs: POLL_MS, logEvent };
  return { client, observer, events, context };
}

export async function closeObservation({ client, observer }: ScenarioObservation): Promise<void> {
  client.close();
  await observer.stop();
}

/** In replication mode, Valkey 8.0 and newer send redirects only after CLIENT CAPA. */
function clientDialer(injector: FaultInjector, timeoutMs: number): Dialer {
  return async (endpoint) => {
    const connection = await injector.dial(endpoint, timeoutMs);
    if (injector.deployment.mode === "replication")
      await connection.call("CLIENT", "CAPA", "redirect").catch(() => undefined);
    return connection;
  };
}
