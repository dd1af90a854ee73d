/**
 * Looks at a deployment as the controller does, and prints a line of JSON after each look. It is a process of its own, so
 * that its memory and CPU time are those of looks alone. Its argument is a file with a `LookOrder`.
 */
import { readFileSync } from "node:fs";
import { watch } from "../../operations/inspection/watch";
import type { EndpointReference } from "../../platforms/deployment-reference";
// The controller's pod has this library in its memory too.
import { CoreV1Api } from "../../platforms/kubernetes/api/client-library.mjs";
import { inspectDeployment } from "../../operations/inspection/drift";
import type { SeenData } from "../../valkey/verification/facts";

export interface LookOrder {
  readonly target: EndpointReference;
  readonly password: string;
  readonly everySeconds: number;
}

async function main(file: string): Promise<void> {
  const { target, password, everySeconds } = JSON.parse(readFileSync(file, "utf8")) as LookOrder;
  const stop = new AbortController();
  process.once("SIGTERM", () => {
    stop.abort();
  });
  const watched = {
    name: target.name,
    inspect: (signal: AbortSignal, former: SeenData | undefined) =>
      inspectDeployment(target, password, { former, signal }),
  };
  await watch(watched, {
    everyMs: everySeconds * 1000,
    signal: stop.signal,
    onLook: ({ pass, seconds, assertions }) => {
      const failing = assertions.filter(({ holds }) => !holds).map(({ found }) => found);
      process.stdout.write(`${JSON.stringify({ pass, seconds, failing, library: CoreV1Api.name })}\n`);
    },
  });
}

void main(process.argv.at(-1) ?? "");
