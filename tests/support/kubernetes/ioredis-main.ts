/**
 * A client that asks Sentinels for the primary, by ioredis with its defaults and TLS, as a program for a pod: it writes until a file
 * appears, then prints what became of the writes as JSON, and deletes them. Environment: ORDER, a `SentinelClientOrder`.
 */
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { messageOf } from "../../../lib/errors";
import type { Endpoint } from "../../../valkey/node";

export interface SentinelClientOrder {
  readonly sentinels: readonly Endpoint[];
  /** Name by which the Sentinels know the primary. */
  readonly name: string;
  /** Certificate of the authority, PEM. */
  readonly ca: string;
  readonly passwordFile?: string | undefined;
  /** The file that ends the writes. */
  readonly until: string;
}

export interface SentinelClientWrites {
  readonly acknowledged: number;
  /** Messages of the writes that failed. */
  readonly failed: readonly string[];
  /** Written keys that are not there in the end. */
  readonly lost: number;
}

async function writeThroughSentinels(order: SentinelClientOrder): Promise<SentinelClientWrites> {
  const password = order.passwordFile === undefined ? undefined : readFileSync(order.passwordFile, "utf8").trim();
  const tls = { ca: order.ca };
  const client = new Redis({
    sentinels: order.sentinels.map(({ host, port }) => ({ host, port })),
    name: order.name,
    ...(password === undefined ? {} : { password, sentinelPassword: password }),
    ...{ tls, sentinelTLS: tls, enableTLSForSentinelMode: true },
  });
  client.on("error", () => undefined);
  const [acknowledged, failed]: [string[], string[]] = [[], []];
  for (let number = 0; !existsSync(order.until); number++) {
    const key = `sentinel-client:${number}`;
    try {
      await client.set(key, number);
      acknowledged.push(key);
    } catch (error) {
      failed.push(messageOf(error));
    }
    await sleep(20);
  }
  const values = await client.mget(acknowledged);
  await client.del(acknowledged);
  client.disconnect();
  return { acknowledged: acknowledged.length, failed, lost: values.filter((value) => value === null).length };
}

void writeThroughSentinels(JSON.parse(process.env["ORDER"] ?? "") as SentinelClientOrder).then((writes) => {
  process.stdout.write(JSON.stringify(writes));
  process.exit();
});
