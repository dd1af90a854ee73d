/** Other passwords and users for real servers that run, while a client writes. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { findFreePorts } from "../../../platforms/host/ports";
import { type RecordedProcess, startRecorded } from "../../../platforms/host/processes";
import { connect } from "../../../valkey/connection";
import {
  acceptedPasswords,
  addAccess,
  differingAccess,
  requireAcceptableRules,
  retireOtherPasswords,
} from "../../../valkey/access/apply-access";
import { passwordHash, rulesOf } from "../../../valkey/access/users";
import type { Deployment } from "../../../valkey/deployment";
import { verify, verifyUntilPass } from "../../../valkey/verification/verify";
import { useSandbox } from "../../support/valkey/hooks";
import { withNode, callNode, eventuallyAccepts } from "../../support/valkey/real";

const SHAPE = { primaries: 1, replicasPerPrimary: 1 };
const NEXT = { password: "another password, as long", users: {} };
const WITH_USERS = { ...NEXT, users: { app: { rules: "+@read ~app:*", password: "the app's own password" } } };

const sandbox = useSandbox();
let deployment: Deployment;
beforeAll(async () => {
  deployment = await sandbox.formedReplication("guarded", SHAPE.replicasPerPrimary);
});

const by = (password: string): Deployment => {
  const access = { password };
  return { ...deployment, access, connect: (node) => connect(node.name, node.endpoint, access) };
};

describe("who may log in to running servers", () => {
  it("has both passwords for a while, then the new one, and no write fails", async () => {
    const former = deployment.access.password ?? "";
    const writes = { failed: 0, done: 0, ended: false };
    const writing = withNode(deployment, 0, async (connection) => {
      while (!writes.ended) {
        await connection.set("key", writes.done).then(
          () => (writes.done += 1),
          () => (writes.failed += 1),
        );
      }
    });
    await addAccess(deployment, NEXT, []);
    for (const password of [former, NEXT.password])
      expect((await verifyUntilPass(by(password), { settlingMs: 10_000 })).verdict.pass).toBe(true);
    const hashes = new Set([passwordHash(former), passwordHash(NEXT.password)]);
    expect((await acceptedPasswords(deployment)).get("default")).toEqual(hashes);
    expect(await differingAccess(deployment, NEXT)).toEqual(
      ["guarded-0", "guarded-1"].map((node) => `${node}: the user default has 2 passwords`),
    );
    // An update that was interrupted does it all again.
    await addAccess(by(NEXT.password), NEXT, []);
    await retireOtherPasswords(by(NEXT.password), NEXT);
    await expect(withNode(by(former), 0, () => Promise.resolve())).rejects.toThrow("the server refuses the password");
    writes.ended = true;
    await writing;
    expect(writes.failed).toBe(0);
    expect(writes.done).toBeGreaterThan(0);
    deployment = by(NEXT.password);
    expect(await differingAccess(deployment, NEXT)).toEqual([]);
  });

  it("is shown by a replica to its primary, which has cut the connection", async () => {
    await withNode(deployment, 0, async (primary) => {
      await primary.call("CLIENT", "KILL", "TYPE", "REPLICA");
    });
    const { verdict } = await verifyUntilPass(deployment, { settlingMs: 10_000 });
    expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
  });

  it("are users with the rules that are wanted now, as a row of the verdict, until they are removed", async () => {
    await addAccess(deployment, WITH_USERS, []);
    const app = { username: "app", password: WITH_USERS.users.app.password };
    for (const node of deployment.nodes) {
      const connection = await connect(node.name, node.endpoint, app);
      expect(await connection.get("app:1")).toBeNull();
      await expect(connection.get("other")).rejects.toThrow(/^NOPERM/);
      connection.disconnect();
    }
    const row = async (): Promise<unknown> =>
      (await verify({ ...deployment, users: rulesOf(WITH_USERS) })).verdict.assertions
        .filter(({ id }) => id === "users")
        .map(({ pass, found }) => [pass, found]);
    expect(await row()).toEqual([[true, "app"]]);
    expect(await differingAccess(deployment, WITH_USERS)).toEqual([]);
    await callNode(deployment, 0, "ACL", "SETUSER", "app", "+set");
    await withNode(deployment, 1, async (node) => {
      await node.call("ACL", "SETUSER", "guest", "on", "nopass", "+ping");
      await node.call("ACL", "DELUSER", "app");
    });
    const differences = "guarded-0: has a user app with different rules; guarded-1: has a user guest, has no user app";
    expect(await row()).toEqual([[false, differences]]);
    expect(await differingAccess(deployment, WITH_USERS)).toEqual([
      "guarded-0: has a user app with different rules",
      "guarded-1: has a user guest",
      "guarded-1: has no user app",
    ]);
    const other = { ...NEXT, users: { app: { ...WITH_USERS.users.app, rules: "+get ~*" } } };
    await addAccess(deployment, other, ["guest"]);
    expect(await differingAccess(deployment, other)).toEqual([]);
    expect(await callNode(deployment, 1, "ACL", "DRYRUN", "app", "GET", "other")).toBe("OK");
    await addAccess(deployment, NEXT, ["app"]);
    expect(await callNode(deployment, 1, "ACL", "USERS")).toEqual(["default"]);
  });

  it("are the same on every node where none are configured, whatever the order of their keys", async () => {
    const found = async (): Promise<unknown> =>
      (await verify(deployment)).verdict.assertions.filter(({ id }) => id === "users").map((row) => row.found);
    const setApp = (index: number, ...rules: readonly string[]): Promise<unknown> =>
      callNode(deployment, index, "ACL", "SETUSER", "app", "reset", "on", ">secret", ...rules);
    expect(await found()).toEqual(["default"]);
    await setApp(0, "~a", "~b", "+get", "+set", "-@admin", "(+ping ~c)");
    expect(await found()).toEqual(["guarded-1: has no user app"]);
    await setApp(1, "~b", "~a", "+set", "+get", "-@admin", "(+ping ~c)");
    expect(await found()).toEqual(["app, default"]);
    const different = ["guarded-1: has a user app with different rules or passwords"];
    await setApp(1, "~b", "~a", "-@admin", "+set", "+get", "(+ping ~c)");
    expect(await found()).toEqual(different);
    await setApp(1, "~a", "~b", "+get", "+set", "-@admin", "(+ping ~c)", ">another");
    expect(await found()).toEqual(different);
    await Promise.all([0, 1].map((index) => callNode(deployment, index, "ACL", "DELUSER", "app")));
  });

  it("stays as it is where a server refuses rules", async () => {
    const wrong = {
      ...NEXT,
      users: { app: { rules: "+@reads ~app:*", password: "p" }, ok: { rules: "+get", password: "p" } },
    };
    await expect(requireAcceptableRules(deployment, wrong)).rejects.toThrow(
      /^guarded: the servers refuse rules of users, so nothing has changed: users.app.rules "\+@reads ~app:\*": ERR .*@reads/,
    );
    expect(await callNode(deployment, 0, "ACL", "USERS")).toEqual(["default"]);
  });

  it("is the same on Sentinels after they restart", async () => {
    const former = deployment.access.password ?? "";
    const { run, programs } = sandbox.host;
    const [port = 0] = await findFreePorts(1);
    const file = join(run.path, "sentinel.conf");
    const primary = deployment.nodes[0]?.endpoint.port ?? 0;
    writeFileSync(
      file,
      `port ${port}\nbind 127.0.0.1\ndir ${run.path}\nrequirepass "${former}"\nsentinel sentinel-pass "${former}"\n` +
        `sentinel monitor guarded 127.0.0.1 ${primary} 1\nsentinel auth-pass guarded "${former}"\n`,
    );
    const endpoint = { host: "127.0.0.1", port };
    const start = async (password: string): Promise<RecordedProcess> => {
      const started = startRecorded(run, "sentinel", programs.server, [file, "--sentinel"], { stdio: "ignore" });
      await eventuallyAccepts("sentinel", endpoint, { password });
      return started;
    };
    const watched = (password: string): Deployment => {
      const nodes = [{ name: "sentinel-0", machine: "here", zone: undefined, endpoint }];
      const settings = { count: 1, quorum: 1, downAfterMs: 30_000, failoverTimeoutMs: 30_000 };
      return { ...by(password), sentinels: { settings, nodes } };
    };
    let sentinel = await start(former);
    try {
      const next = { password: "a-fourth-password-as-long", users: {} };
      await addAccess(watched(former), next, []);
      expect(await differingAccess(watched(former), next)).toContain("sentinel-0: the user default has 2 passwords");
      await retireOtherPasswords(watched(next.password), next);
      deployment = by(next.password);
      sentinel.child.kill("SIGKILL");
      await sentinel.ended;
      sentinel = await start(next.password);
      expect(await differingAccess(watched(next.password), next)).toEqual([]);
      await expect(connect("sentinel", endpoint, { password: former })).rejects.toThrow("refuses the password");
    } finally {
      sentinel.child.kill("SIGKILL");
    }
  });

  it("is in the files from which servers start, on the platform host", async () => {
    const password = "a-third-password-as-long";
    await sandbox.host.changePassword(deployment, password);
    await expect(withNode(deployment, 0, () => Promise.resolve())).rejects.toThrow("the server refuses the password");
    deployment = by(password);
    expect((await verifyUntilPass(deployment, { settlingMs: 10_000 })).verdict.pass).toBe(true);
    expect(readFileSync(sandbox.host.passwordFile("guarded"), "utf8")).toBe(password);
    for (const { directory } of sandbox.host.servers("guarded"))
      expect(readFileSync(join(directory, "valkey.conf"), "utf8")).toMatch(
        new RegExp(`\nrequirepass ${password}\nprimaryauth ${password}\n$`),
      );
  });
});
