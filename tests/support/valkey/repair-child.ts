/**
 * Repairs the deployment that standard input describes, in a process that can be killed. Prints a line when the repair
 * begins, a line for each step, and `done`.
 */
import { text } from "node:stream/consumers";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import { repairDeployment } from "../../../operations/changes/repair";

export interface RepairOrder {
  readonly target: DeploymentReference;
  readonly password: string;
}

async function main(): Promise<void> {
  const { target, password } = JSON.parse(await text(process.stdin)) as RepairOrder;
  const say = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  say("begins");
  const { signal } = new AbortController();
  await repairDeployment(target, password, { handOver: true }, { timeoutMs: 60_000, signal, report: say });
  say("done");
}

void main();
