/** New bases on schedule, without a gap, and sets that are deleted when nothing needs them. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { chooseRestore, readCatalog } from "../../../valkey/archive/catalog";
import { DirectoryStore } from "../../../valkey/archive/store";
import { form } from "../../../valkey/formation/form";
import type { Deployment } from "../../../valkey/deployment";
import { Place } from "../../support/command";
import { eventually, Sandbox, withNode } from "../../support/valkey/real";

let sandbox: Sandbox;
let place: Place;
let shop: Deployment;
beforeAll(async () => {
  sandbox = await Sandbox.open();
  shop = await sandbox.replication("shop", 0, { "repl-diskless-sync-delay": 0 });
  await form(shop, { primaries: 1, replicasPerPrimary: 0 });
});
afterAll(() => sandbox.close());
beforeEach(() => {
  place = new Place();
});
afterEach(() => place.close());

it("begins a set before the old one ends, deletes old sets, and keeps a proven one", async () => {
  const folder = place.output("sets");
  const start = (...rest: readonly string[]): ReturnType<Place["start"]> =>
    place.start(
      [
        ...["archive", "--mode", "replication", "--node", `127.0.0.1:${shop.nodes[0]?.endpoint.port}=a`],
        ...["--into", folder, "--base-every", "2s", ...rest],
      ],
      { VALKEY_PASSWORD: shop.access.password },
    );
  let isWriting = true;
  const writing = withNode(shop, 0, async (primary) => {
    for (let value = 0; isWriting; value++) {
      await primary.set("key", value);
      await sleep(10);
    }
  });
  const first = await start();
  await first.printed(/(base with[\s\S]*){3}/);
  first.child.kill("SIGINT");
  expect((await first.ended).status, first.output).toBe(0);
  const catalog = await readCatalog(new DirectoryStore(folder), folder);
  const [period] = catalog.periods;
  expect(catalog.damaged).toEqual([]);
  const sets = period?.shards[0]?.sets ?? [];
  expect(sets.length).toBeGreaterThanOrEqual(3);
  // Every millisecond from the first instant to the last one is in a set.
  const spans = sets.flatMap((each) => each.spans).sort((a, b) => a.from - b.from);
  let end = spans[0]?.to ?? 0;
  for (const { from, to } of spans) {
    expect(from).toBeLessThanOrEqual(end);
    end = Math.max(end, to);
  }
  expect(typeof chooseRestore(catalog, end)).toBe("object");

  const [oldest] = sets;
  const at = new Date(oldest?.spans[0]?.from ?? 0).toISOString();
  const proven = await place.run(["restore", folder, "--into", "local", "--at", at, "--check"]);
  expect(proven.status, proven.output).toBe(0);
  const list = await place.call(["backups", folder]);
  expect(list.output).toMatch(/Last restored with proof at \S+Z: \d+ keys as of \S+Z/);

  const second = await start("--keep", "1s");
  const names = (): string[] => readdirSync(join(folder, period?.period.name ?? "", "shard-0"));
  await second.printed(/deleted set/);
  await eventually("the second set is deleted", () => !names().includes(sets[1]?.set.name ?? ""));
  second.child.kill("SIGINT");
  isWriting = false;
  await writing;
  expect((await second.ended).status, second.output).toBe(0);
  expect(names()).toContain(oldest?.set.name);
  expect((await readCatalog(new DirectoryStore(folder), folder)).damaged).toEqual([]);
});
