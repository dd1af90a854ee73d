/** Rights on a Sentinel of a pod: a real Sentinel that the script of its container starts. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { findFreePorts } from "../../../platforms/host/ports";
import type { Programs } from "../../../platforms/host/programs/programs";
import { addAccess, differingAccess, retireOtherPasswords } from "../../../valkey/access/apply-access";
import { connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import type { Endpoint, NodeAccess } from "../../../valkey/node";
import { eventually, olderPrograms, realPrograms } from "../../support/valkey/real";

const SCRIPTS = join(__dirname, "../../../components/kubernetes/scripts");
const FIRST = { password: "password-of-the-servers", sentinelPassword: "password-of-the-admin", users: {} };
const ALLOWED = [
  ["PING"],
  ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "shop"],
  ["SENTINEL", "GET-PRIMARY-ADDR-BY-NAME", "shop"],
  ["SENTINEL", "MASTERS"],
  ["SENTINEL", "REPLICAS", "shop"],
  ["SENTINEL", "SENTINELS", "shop"],
  ["subscribe", "+switch-master"],
] as const;
const REFUSED = [
  ["SENTINEL", "FAILOVER", "shop"],
  ["SENTINEL", "SET", "shop", "quorum", "1"],
  ["SENTINEL", "RESET", "*"],
  ["SENTINEL", "REMOVE", "shop"],
  ["SENTINEL", "CONFIG", "GET", "*"],
  ["ACL", "LIST"],
  ["SHUTDOWN"],
] as const;

let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());

async function start({ server }: Programs): Promise<Endpoint> {
  const directory = mkdtempSync(join(tmpdir(), "valkey-sentinel-"));
  const [port = 0] = await findFreePorts(1);
  for (const name of readdirSync(SCRIPTS))
    writeFileSync(
      join(directory, name),
      readFileSync(join(SCRIPTS, name), "utf8")
        .replaceAll("/data", directory)
        .replaceAll("/valkey/config", directory)
        .replaceAll("26379", String(port)),
    );
  const files = { servers: "1\n", primary: "127.0.0.1", password: FIRST.password };
  for (const [name, text] of Object.entries({ ...files, "sentinel-password": FIRST.sentinelPassword }))
    writeFileSync(join(directory, name), text);
  const env = {
    ...{ PATH: `${dirname(server)}:${process.env["PATH"] ?? ""}`, VALKEY_PASSWORD_FILE: join(directory, "password") },
    ...{ PRIMARY_FILE: join(directory, "primary"), DEPLOYMENT: "shop", POD_NAME: "shop-sentinel-0", SERVERS: "" },
    ...{ SENTINELS: "", COUNT: "1", QUORUM: "1", DOWN_AFTER: "60000", FAILOVER_TIMEOUT: "60000" },
  };
  const sentinel: ChildProcess = spawn("sh", [join(directory, "sentinel.sh")], { env, stdio: "ignore" });
  stop = async () => {
    const gone = once(sentinel, "exit");
    if (sentinel.exitCode === null && sentinel.kill("SIGKILL")) await gone;
    rmSync(directory, { recursive: true });
  };
  return { host: "127.0.0.1", port };
}

const ADMIN = { username: "admin", password: FIRST.sentinelPassword };

async function refusedOf(
  at: Endpoint,
  access: NodeAccess,
  commands: typeof ALLOWED | typeof REFUSED,
): Promise<unknown[]> {
  const refused: unknown[] = [];
  for (const words of commands) {
    const [command, ...rest] = words;
    const connection = await connect("sentinel", at, access);
    await connection.call(command, ...rest).catch((error: unknown) => {
      if (/NOPERM/.test(String(error))) refused.push(words);
    });
    connection.disconnect();
  }
  return refused;
}

describe("a Sentinel of a pod", () => {
  it.each([
    ["Valkey as installed", realPrograms],
    ["Valkey 8.1", olderPrograms],
  ])("lets clients with the password of the servers read and change nothing (%s)", async (_title, find) => {
    const programs = await find();
    if (programs === undefined) throw new Error("this machine has no such programs");
    const at = await start(programs);
    const client = { password: FIRST.password };
    await eventually("the Sentinel answers", async () => {
      const connection = await connect("sentinel", at, ADMIN).catch(() => undefined);
      connection?.disconnect();
      return connection !== undefined;
    });
    expect(await refusedOf(at, client, ALLOWED)).toEqual([]);
    expect(await refusedOf(at, client, REFUSED)).toEqual(REFUSED);

    const nodes = [{ name: "sentinel-0", machine: "here", zone: undefined, endpoint: at }];
    const settings = { count: 1, quorum: 1, downAfterMs: 60_000, failoverTimeoutMs: 60_000 };
    const by = (password: string): Deployment => ({
      ...{ name: "shop", mode: "replication", shape: {}, nodes: [], directives: new Map(), access: {} },
      sentinels: { settings, nodes },
      connect: (node) => connect(node.name, node.endpoint, { username: "admin", password }),
    });
    const next = { password: "next-password-of-servers", sentinelPassword: "next-password-of-admin", users: {} };
    await addAccess(by(FIRST.sentinelPassword), next, []);
    expect(await differingAccess(by(FIRST.sentinelPassword), next)).toEqual([
      "sentinel-0: the user default has 2 passwords",
      "sentinel-0: the user admin has 2 passwords",
    ]);
    await retireOtherPasswords(by(next.sentinelPassword), next);
    expect(await differingAccess(by(next.sentinelPassword), next)).toEqual([]);
    expect(await refusedOf(at, { password: next.password }, REFUSED)).toEqual(REFUSED);
    await expect(connect("sentinel", at, ADMIN)).rejects.toThrow("refuses the password");
  });
});
