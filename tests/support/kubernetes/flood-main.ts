/**
 * Clients that write to a cluster as fast as they are answered, by ioredis with its defaults, as a program for a pod:
 * until a file appears, then it prints what became of the writes as JSON. Environment: ORDER, a `FloodOrder`.
 */
import { randomInt } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Cluster } from "ioredis";
import type { Endpoint } from "../../../valkey/node";
import { messageOf } from "../../../lib/errors";

export interface FloodOrder {
  readonly endpoints: readonly Endpoint[];
  readonly passwordFile?: string | undefined;
  /** Writes that wait for an answer at any time. */
  readonly inFlight: number;
  /** The file that appears after some writes. */
  readonly begun: string;
  /** The file that ends the writes. */
  readonly until: string;
}

export interface FloodedWrites {
  readonly acknowledged: number;
  readonly failed: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** Written over and over, so that memory does not fill. */
const KEYS = 100_000;
const VALUE = "x".repeat(64);

async function flood({ endpoints, passwordFile, inFlight, begun, until }: FloodOrder): Promise<FloodedWrites> {
  const password = passwordFile === undefined ? undefined : readFileSync(passwordFile, "utf8").trim();
  const client = new Cluster([...endpoints], { redisOptions: { password } });
  client.on("error", () => undefined);
  const began = performance.now();
  const errors: Record<string, number> = {};
  let [acknowledged, failed, ended] = [0, 0, false];
  const write = async (): Promise<void> => {
    while (!ended) {
      try {
        await client.set(`flood:${randomInt(KEYS)}`, VALUE);
        if (acknowledged++ === KEYS / 100) writeFileSync(begun, "");
      } catch (error) {
        failed++;
        const [first = ""] = messageOf(error).split(" ");
        errors[first] = (errors[first] ?? 0) + 1;
      }
    }
  };
  const writers = Array.from({ length: inFlight }, write);
  while (!existsSync(until)) await sleep(50);
  ended = true;
  await Promise.all(writers);
  client.disconnect();
  return { acknowledged, failed, errors, seconds: (performance.now() - began) / 1000 };
}

void flood(JSON.parse(process.env["ORDER"] ?? "") as FloodOrder).then((flooded) => {
  process.stdout.write(JSON.stringify(flooded), () => process.exit());
});
