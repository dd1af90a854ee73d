import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { V1Status } from "@kubernetes/client-node";
import { Semaphore } from "../../../lib/semaphore";
import { type Observation, mapObservation, observed, unobserved } from "../../../valkey/observation";
import type { MachineSettings, QueueInterrupt } from "../../../valkey/machine-settings";
import type { KubernetesClient } from "../api/client";
import { Failure, messageOf } from "../../../lib/errors";

/** If a WebSocket cannot be opened, the promise is rejected with an event instead of an Error. */
const eventMessage = (event: unknown): string =>
  typeof event === "object" && event !== null && "message" in event ? String(event.message) : messageOf(event);

const SCRIPT_TIMEOUT_MS = 15_000;

/** Set before the kubelet starts, with the value `failed`, if the boot script failed. */
export const BOOT_LABEL = "valkey-measured/boot";

const QUESTIONS = 32;

export interface PlacedContainer extends ContainerName {
  readonly machine: string;
}

export class MachineSettingsReader {
  readonly #semaphore = new Semaphore(QUESTIONS);
  readonly #read = new Map<string, Promise<MachineSettings>>();
  // The script is read at its first use, because programs in pods contain this code but not the file.
  readonly #script = (): string => readFileSync(join(__dirname, "machine-settings.sh"), "utf8");

  constructor(private readonly kubernetes: KubernetesClient) {}

  /** @param key only the first container of a key is asked. @default namespace and name of the pod @throws Failure */
  read(container: PlacedContainer, key = `${container.namespace}/${container.pod}`): Promise<MachineSettings> {
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const asked = this.#semaphore.run(() => this.#ask(container));
    this.#read.set(key, asked);
    // A failed read is not stored, so that the next verification asks again.
    asked.catch(() => this.#read.delete(key));
    return asked;
  }

  async #ask(container: PlacedContainer): Promise<MachineSettings> {
    const { machine } = container;
    const [printed, node] = await Promise.all([
      runInPod(this.kubernetes, container, this.#script()),
      this.kubernetes.call(`reading machine ${machine}`, this.kubernetes.core.readNode({ name: machine })),
    ]);
    return parseMachineSettings(printed, node.metadata?.labels?.[BOOT_LABEL]);
  }
}

export function parseMachineSettings(printed: string, boot: string | undefined): MachineSettings {
  const lines = printed.split("\n").map((line) => line.trim());
  const read = (key: string): Observation<string> => {
    const line = lines.find((each) => each.startsWith(`${key} `));
    return line === undefined ? unobserved(`the container cannot read it`) : observed(line.slice(key.length + 1));
  };
  return {
    hugePages: mapObservation(read("huge-pages"), (text) => /\[(\w+)\]/.exec(text)?.[1] ?? text),
    overcommit: read("overcommit"),
    acceptQueue: mapObservation(read("accept-queue"), Number),
    openFiles: mapObservation(read("open-files"), (text) => (text === "unlimited" ? Infinity : Number(text))),
    cpus: mapObservation(read("cpus"), parseCpus),
    machineCpus: mapObservation(read("machine-cpus"), (text) => parseCpus(text).length),
    interrupts: lines.includes("interrupts-read")
      ? observed(lines.flatMap(parseInterrupt))
      : unobserved("the container cannot read it"),
    boot: observed(boot ?? "ok"),
  };
}

function parseInterrupt(line: string): QueueInterrupt[] {
  const match = /^interrupt (\S+) (\S+)$/.exec(line);
  return match === null ? [] : [{ name: match[1] ?? "", cpus: parseCpus(match[2] ?? "") }];
}

function parseCpus(text: string): number[] {
  return text.split(",").flatMap((part) => {
    const [from = 0, to = from] = part.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}

interface ContainerName {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** Needs the right to create pods/exec. @returns its output. @throws Failure when it fails or takes longer than 15 s */
export async function runInPod(
  kubernetes: KubernetesClient,
  { namespace, pod, container }: ContainerName,
  script: string,
): Promise<string> {
  const { Exec } = await import("../api/client-library.mjs");
  const output = new PassThrough();
  const printed = text(output);
  const stop = new AbortController();
  const command = ["sh", "-c", script];
  const failed = (why: string): Failure => new Failure(`a command in ${pod} of namespace ${namespace}: ${why}`);
  try {
    const status = await new Promise<V1Status>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(failed(`it did not end within ${SCRIPT_TIMEOUT_MS / 1000} s`));
      }, SCRIPT_TIMEOUT_MS);
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
