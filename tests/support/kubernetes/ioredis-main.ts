/**
 * ioredis with its defaults as a program for a pod: it repeats a command whose connection was cut. It writes until a file appears, then
 * prints what became of the writes as JSON, and deletes them. Environment: ORDER, an `IoredisOrder`.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { messageOf } from "../../../lib/errors";
import type { Endpoint } from "../../../valkey/node";

export interface IoredisOrder {
  /** The Service of the primary; or Sentinels, and the name by which they know the primary. */
  readonly at: Endpoint | { readonly sentinels: readonly Endpoint[]; readonly name: string };
  /** Certificate of the authority, PEM. @default plain TCP */
  readonly ca?: string | undefined;
  readonly passwordFile?: string | undefined;
  /** The file that appears after some writes. */
  readonly begun: string;
  /** The file that ends the writes. */
  readonly until: string;
}

export interface IoredisWrites {
  readonly acknowledged: number;
  readonly failed: readonly string[];
  /** Written keys that are not there in the end. */
  readonly lost: number;
}

const PREFIX = "ioredis:";
/** Writes after which a change may begin. */
const BEGUN_AFTER = 50;

function connectAs({ at, ca, passwordFile }: IoredisOrder): Redis {
  const password = passwordFile === undefined ? undefined : readFileSync(passwordFile, "utf8").trim();
  const login = password === undefined ? {} : { password };
  const tls = ca === undefined ? undefined : { ca };
  if (!("sentinels" in at)) return new Redis({ host: at.host, port: at.port, ...login, ...(tls && { tls }) });
  return new Redis({
    sentinels: [...at.sentinels],
    name: at.name,
    ...login,
    ...(password === undefined ? {} : { sentinelPassword: password }),
    ...(tls && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
  });
}

async function write(order: IoredisOrder): Promise<IoredisWrites> {
  const client = connectAs(order);
  client.on("error", () => undefined);
  const [acknowledged, failed]: [string[], string[]] = [[], []];
  for (let number = 0; !existsSync(order.until); number++) {
    const key = `${PREFIX}${number}`;
    try {
      await client.set(key, number);
      if (acknowledged.push(key) === BEGUN_AFTER) writeFileSync(order.begun, "");
    } catch (error) {
      failed.push(messageOf(error));
    }
    await sleep(10);
  }
  const values = await client.mget(acknowledged);
  await client.del(acknowledged);
  client.disconnect();
  const lost = values.filter((value) => value === null).length;
  return { acknowledged: acknowledged.length, failed, lost };
}

void write(JSON.parse(process.env["ORDER"] ?? "") as IoredisOrder).then((writes) => {
  process.stdout.write(JSON.stringify(writes), () => process.exit());
});
