/**
 * A deployment that lives through a table of changes and faults. Each row says what must hold before it, what is done,
 * what a client may see meanwhile and how the deployment comes back. After each row the deployment passes verification
 * and has every key.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Held, type Seen, LiveDeployment } from "./live-deployment";
import { LiveStack } from "./live-stack";
import { KUBECONFIG, WHERE } from "./throw-away";

/** Failures that a client may see while it writes. Acknowledged writes must never be lost. */
export type ClientSees =
  /** The row does not look: nobody writes. */
  | "is not asked"
  /** Every write is acknowledged. */
  | "no failed write"
  /** Writes fail for some time. */
  | "failed writes";

export interface Row {
  readonly title: string;
  /** Conditions before the change, besides the verification. */
  readonly precondition?: (live: LiveDeployment) => Promise<void>;
  readonly change: (live: LiveDeployment) => Promise<unknown>;
  readonly client: ClientSees;
  /** Conditions after the change, besides the verification. @param seen undefined if the client is not asked */
  readonly verdict?: (live: LiveDeployment, seen: Seen | undefined) => Promise<void>;
  /** Brings the deployment back to the state in which the row found it. */
  readonly back?: (live: LiveDeployment) => Promise<unknown>;
  /** State in which the row leaves the deployment, if it is a different one. */
  readonly leaves?: string;
}

/** A client that wrote less has seen nothing. */
const LEAST_WRITES = 20;
/** Lines of what a client saw that a failure shows. */
const SHOWN = 12;
/** Time limit of a row, milliseconds. */
const ROW_MS = 600_000;

/** @param prepare creates what the stack file names, such as a certificate, in a namespace of its own */
export function story(
  title: string,
  name: string,
  wanted: LiveDeployment["wanted"],
  rows: readonly Row[],
  prepare?: (live: LiveDeployment) => Promise<void>,
): void {
  describe.skipIf(KUBECONFIG === undefined)(`${title}${WHERE}`, { timeout: ROW_MS }, () => {
    let live: LiveDeployment;
    beforeAll(async () => {
      live = new LiveDeployment(await LiveStack.open(name, prepare === undefined), name, wanted);
      await prepare?.(live);
      await live.up();
    }, ROW_MS);
    afterAll(async () => {
      live.close();
      await live.stack.close();
    }, ROW_MS);

    it("changes nothing by a second update, and a refresh finds no drift", async () => {
      expect((await live.up()).done).toEqual([]);
      // A server that answers late looks like one that has changed.
      await live.here.until(60, async () => {
        const { done } = await live.stack.repair();
        return done.length === 0 ? undefined : done.join();
      });
    });

    let failed: string | undefined;
    for (const row of rows)
      it(row.title, { meta: { row: row.leaves === undefined ? "returns" : "leaves" } }, async ({ skip }) => {
        // What one row has broken is not the fault of the next. The file has failed then.
        if (failed !== undefined && (await live.failing()).length > 0)
          skip(`not tried: "${failed}" has left the deployment without a PASS`);
        failed = row.title;
        let isPlayed = false;
        try {
          await play(row, live);
          isPlayed = true;
        } finally {
          await row.back?.(live);
          // What the row has done may end by itself, so that the next ones can be tried.
          if (!isPlayed) await live.verified().catch(() => undefined);
        }
        if (row.back !== undefined) await live.isWhole();
        failed = undefined;
      });

    it("leaves nothing when it is destroyed", () => live.stack.destroy());
  });
}

async function play(row: Row, live: LiveDeployment): Promise<void> {
  await row.precondition?.(live);
  const before = await live.fill();
  const seen = row.client === "is not asked" ? undefined : await live.seen(() => row.change(live));
  if (seen === undefined) await row.change(live);
  else await judge(row.client, seen, before, live);
  expect((await live.isWhole()).keys, "keys").toBeGreaterThanOrEqual(before.keys);
  await row.verdict?.(live, seen);
}

async function judge(client: ClientSees, seen: Seen, { primaries }: Held, live: LiveDeployment): Promise<void> {
  expect(seen.acknowledged, seen.log.join("; ")).toBeGreaterThan(LEAST_WRITES);
  const failed = client === "failed writes" ? 0 : seen.failed;
  if (seen.lost + failed === 0) return;
  // Who led before and after tells a planned change from a failover.
  const led = `led by ${primaries.join(", ")} before and ${(await live.primaries()).join(", ")} now`;
  expect.soft(seen.lost, `lost writes; ${led}`).toBe(0);
  expect(failed, `failed writes; ${led}; ${seen.log.slice(0, SHOWN).join("; ")}`).toBe(0);
}
