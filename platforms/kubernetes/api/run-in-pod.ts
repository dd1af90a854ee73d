/** Runs a shell script in a running container. */
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { V1Status } from "@kubernetes/client-node";
import { Failure, messageOf } from "../../../lib/errors";
import type { KubernetesClient } from "./client";

export interface ContainerName {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** Message of an event. If a WebSocket cannot be opened, the promise is rejected with an event instead of an Error. */
const eventMessage = (event: unknown): string =>
  typeof event === "object" && event !== null && "message" in event ? String(event.message) : messageOf(event);

/** Time limit of a script, milliseconds. */
const TIMEOUT_MS = 15_000;

/**
 * Runs a shell script in a running container.
 * @returns the output of the script
 * @throws Failure when the script cannot be run, fails or takes longer than 15 seconds. This program needs the right to
 *   create pods/exec
 */
export async function runInPod(
  kubernetes: KubernetesClient,
  { namespace, pod, container }: ContainerName,
  script: string,
): Promise<string> {
  const { Exec } = await import("./client-library.mjs");
  const output = new PassThrough();
  const printed = text(output);
  const stop = new AbortController();
  const command = ["sh", "-c", script];
  const failed = (why: string): Failure => new Failure(`a command in ${pod} of namespace ${namespace}: ${why}`);
  try {
    const status = await new Promise<V1Status>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(failed(`it did not end within ${TIMEOUT_MS / 1000} s`));
      }, TIMEOUT_MS);
      stop.signal.addEventListener("abort", () => {
        clearTimeout(timer);
      });
      new Exec(kubernetes.config)
        .exec(namespace, pod, container, command, output, null, null, false, resolve)
        .then((socket) => {
          socket.on("close", () => {
            reject(failed("the connection was closed"));
          });
          stop.signal.addEventListener("abort", () => {
            socket.close();
          });
        })
        .catch((error: unknown) => {
          reject(failed(`${eventMessage(error)} (the right to create pods/exec is needed)`));
        });
    });
    output.end();
    if (status.status !== "Success") throw failed(status.message ?? "it failed");
    return await printed;
  } finally {
    output.end();
    stop.abort();
  }
}
