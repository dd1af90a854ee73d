/** The deployment of a stack that `archive` follows, and what the command says. */
import { expect, it } from "vitest";
import { ArchiveLog, chooseTarget } from "../../../cli/commands/archive";
import type { Period } from "../../../backup/archive/periods";
import type { DeployedTarget } from "../../../cli/targets/deployed-stack";

const FILE = { set: "set", instants: 1 };
const target = (platform: string, name: string): DeployedTarget =>
  ({ target: { platform, name }, password: "" }) as unknown as DeployedTarget;

it("follows the only deployment, or the one that --deployment names, on this machine", () => {
  const two = [target("endpoints", "shop"), target("endpoints", "cart")];
  expect(chooseTarget("dev", two.slice(0, 1), undefined).target.name).toBe("shop");
  expect(chooseTarget("dev", two, "cart").target.name).toBe("cart");
  expect(() => chooseTarget("dev", two, undefined)).toThrow(/stack dev has shop, cart; name one/);
  expect(() => chooseTarget("dev", two, "bar")).toThrow(/no deployment "bar"/);
  expect(() => chooseTarget("dev", [target("kubernetes", "shop")], undefined)).toThrow(
    /stack dev: shop runs on Kubernetes, which archive cannot follow yet/,
  );
});

it("says which shards have no base yet, and fails if it ends before all have one", () => {
  const said: string[] = [];
  const log = new ArchiveLog((line) => said.push(line));
  const finish = (): void => {
    log.finish();
  };
  expect(finish).toThrow("a base of any shard, so no time can be restored yet");
  const shards = ["shard-0", "shard-1"].map((name) => ({ name, slots: undefined }));
  const period = { name: "20261124T080000000Z", startedAt: 0, databases: 16, shards } as unknown as Period;
  log.add({ kind: "period", period, isNew: true });
  log.add({ kind: "written", shard: "shard-0", file: { ...FILE, bytes: 10, keys: 1, ageMs: 0 } });
  log.report();
  expect(said.at(-1)).toMatch(/no base yet of shard-1; 0 B of commands in all$/);
  expect(finish).toThrow("a base of shard-1, so");
  log.add({ kind: "continued", shard: "shard-1" });
  log.add({ kind: "written", shard: "shard-1", file: { ...FILE, bytes: 5, keys: undefined, ageMs: 600 } });
  log.report();
  expect(said.at(-1)).toMatch(/RPO 0.60 s; 5 B of commands in all$/);
  log.finish();
  expect(said.at(-1)).toBe("Stopped. Highest RPO 0.60 s; 5 B of commands");
  // The archive of one shard stalls.
  log.add({ kind: "safe", shard: "shard-0", at: Date.now() });
  log.add({ kind: "safe", shard: "shard-1", at: Date.now() - 70_000 });
  log.report();
  expect(said.at(-1)).toMatch(/RPO 7\d\.\d\d s; 5 B of commands in all$/);
  log.add({ kind: "safe", shard: "shard-1", at: Date.now() });
  log.report();
  expect(said.at(-1)).toMatch(/RPO 0\.00 s/);
});
