/** When the controller repairs a deployment, and when it waits. */
import { describe, expect, it } from "vitest";
import type { HealingMemory } from "../../../operations/healing/healing";
import { decide, NO_MEMORY, remember, rememberRepair, rememberRepairEnd } from "../../../operations/healing/healing";
import type { AssertionLook, Look } from "../../../operations/inspection/look";
import type { OpenSlots } from "../../../valkey/resize/open-slots";

const START = Date.parse("2026-11-27T12:00:00.000Z");
const BROKEN: AssertionLook = { id: "members", holds: false, found: "orders-3 is unknown", nodes: ["orders-3"] };
const HOLDS: readonly AssertionLook[] = ["reachable", "not-loading", "one-owner"].map((id) => ({
  ...{ id, holds: true, found: "", nodes: [] },
}));

/** A look some seconds after the start. */
function look(seconds: number, failing: readonly AssertionLook[], more: Partial<Look> = {}): Look {
  const at = new Date(START + seconds * 1000).toISOString();
  const assertions = [...HOLDS.filter(({ id }) => failing.every((each) => each.id !== id)), ...failing];
  return {
    ...{ deployment: "orders", at, seconds: 0.1, since: at, pass: failing.length === 0, remarks: [], primaries: {} },
    assertions,
    ...more,
  };
}

/** The memory after some looks. */
function after(looks: readonly Look[], memory: HealingMemory = NO_MEMORY): HealingMemory {
  return looks.reduce(remember, memory);
}

/** The decision after the last of some looks. */
const decisionAfter = (looks: readonly Look[], memory?: HealingMemory): ReturnType<typeof decide> =>
  decide(after(looks, memory), looks.at(-1) ?? look(0, []));

/** The decisions after each of some looks. */
function decisionsAfter(looks: readonly Look[]): ReturnType<typeof decide>[] {
  let memory = NO_MEMORY;
  return looks.map((each) => {
    memory = remember(memory, each);
    return decide(memory, each);
  });
}

describe("the decision to repair", () => {
  it("is made when looks have found the same problem for twenty seconds", () => {
    expect(decisionAfter([look(0, [])])).toEqual({ kind: "none" });
    expect(decisionAfter([look(0, [BROKEN])])).toEqual({ kind: "wait", why: "the deployment may recover by itself" });
    expect(decisionAfter([look(0, [BROKEN]), look(15, [BROKEN])]).kind).toBe("wait");
    expect(decisionAfter([look(0, [BROKEN]), look(20, [BROKEN])])).toEqual({
      ...{ kind: "repair", what: ["members"], handOver: true },
    });
  });

  it("waits for two minutes while nodes that reply do not reach each other, and then for twenty seconds", () => {
    const cut = (seconds: number): Look => look(seconds, [BROKEN], { separated: ["orders-0", "orders-3"] });
    const why = "a node of the deployment cannot reach orders-0, orders-3, but the network may recover by itself";
    expect(decisionAfter([cut(0), cut(60), cut(115)])).toEqual({ kind: "wait", why });
    expect(decisionAfter([cut(0), cut(60), cut(120)]).kind).toBe("repair");
    expect(decisionAfter([cut(0), cut(60), look(65, [BROKEN]), look(80, [BROKEN])]).kind).toBe("wait");
    expect(decisionAfter([cut(0), cut(60), look(65, [BROKEN]), look(85, [BROKEN])]).kind).toBe("repair");
  });

  it.each(["reachable", "not-loading", "one-primary", "one-owner", "lag-bounded"])(
    "is not made while %s does not hold",
    (id) => {
      const missing: AssertionLook = { id, holds: false, found: "orders-2 is away", nodes: ["orders-2"] };
      const looks = [look(0, [missing, BROKEN]), look(30, [missing, BROKEN])];
      expect(decisionAfter(looks)).toEqual({
        kind: "wait",
        why: `a repair can start only when the assertion ${id} holds`,
      });
    },
  );

  it.each(["same-settings", "users", "same-version", "data-kept", "clients-led", "huge-pages-off"])(
    "is never made for %s, which only an update changes",
    (id) => {
      const drift: AssertionLook = { id, holds: false, found: "differs", nodes: [] };
      expect(decisionAfter([look(0, [drift]), look(30, [drift]), look(60, [drift])])).toEqual({ kind: "none" });
    },
  );

  it("lets no replica take over within five minutes of a failover", () => {
    const crowded = { remarks: ["2 of 3 primaries are in zone a: orders-4 is to take over from orders-1"] };
    const failedOver = [
      look(0, [], { primaries: { "0-5460": "orders-0" } }),
      look(10, [{ ...BROKEN, id: "reachable" }], { primaries: { "0-5460": "orders-0" } }),
      look(30, [], { ...crowded, primaries: { "0-5460": "orders-1" } }),
    ];
    const later = (seconds: number): Look => look(seconds, [], { ...crowded, primaries: { "0-5460": "orders-1" } });
    expect(decisionAfter([...failedOver, later(300)])).toEqual({
      ...{ kind: "wait", why: "a failover was less than 5 min ago" },
    });
    expect(decisionAfter([...failedOver, later(300), later(330)])).toMatchObject({ kind: "repair", handOver: true });
    const broken = (seconds: number): Look => look(seconds, [BROKEN], { primaries: { "0-5460": "orders-1" } });
    expect(decisionAfter([...failedOver, broken(60), broken(90)])).toMatchObject({ kind: "repair", handOver: false });
  });

  it("waits longer after each repair that did not help, and repairs at most six times an hour", () => {
    let memory = after([look(0, [BROKEN])]);
    const repairs: number[] = [];
    for (let seconds = 5; seconds < 7200; seconds += 5) {
      const each = look(seconds, [BROKEN]);
      memory = remember(memory, each);
      if (decide(memory, each).kind !== "repair") continue;
      repairs.push(seconds);
      const now = START + seconds * 1000;
      memory = rememberRepairEnd(rememberRepair(memory, now), now, true);
    }
    const pauses = repairs.slice(1).map((at, index) => Math.floor((at - (repairs[index] ?? 0)) / 60));
    expect(pauses.slice(0, 5)).toEqual([1, 2, 4, 8, 16]);
    const most = Math.max(...repairs.map((at) => repairs.filter((each) => each >= at && each < at + 3600).length));
    expect(most).toBeLessThanOrEqual(6);
    // A look that finds nothing forgets the repairs that did not help.
    expect(remember(memory, look(7200, [])).inVain).toBe(0);
  });

  it("repeats a repair that did not succeed, even if all assertions hold, until it has succeeded", () => {
    const failed = rememberRepairEnd(rememberRepair(NO_MEMORY, START), START, false);
    const looks = [look(60, []), look(90, [])];
    expect(decisionAfter(looks, failed)).toEqual({
      ...{ kind: "repair", what: ["what an earlier repair left unfinished"], handOver: true },
    });
    expect(decisionAfter(looks, rememberRepairEnd(failed, START, true))).toEqual({ kind: "none" });
  });

  it("waits after the end of a repair, and counts a repair in the middle of which the controller died", () => {
    const begun = rememberRepair(after([look(0, [BROKEN]), look(20, [BROKEN])]), START + 20_000);
    const later = look(70, [BROKEN]);
    const restarted = { ...NO_MEMORY, repairs: begun.repairs, inVain: begun.inVain };
    expect(decisionAfter([look(45, [BROKEN]), later], restarted)).toEqual({
      kind: "wait",
      why: "the last repair did not help; the next repair can start 1 min after the last one",
    });
    const ended = rememberRepairEnd(begun, START + 50_000, true);
    expect(ended.repairs).toEqual([START + 50_000]);
    expect(decisionAfter([later, look(100, [BROKEN])], ended).kind).toBe("wait");
    expect(decisionAfter([later, look(110, [BROKEN])], ended).kind).toBe("repair");
  });
});

describe("settings that somebody changed by hand", () => {
  const DRIFT: AssertionLook = { id: "same-settings", holds: false, found: "hz: 10 on orders-0", nodes: ["orders-0"] };
  const REPAIRING: HealingMemory = { ...NO_MEMORY, repairsSettings: true };
  const drifted = (seconds: number, changedSettings?: readonly string[]): Look =>
    look(seconds, [DRIFT], { changedSettings });

  it("are repaired only if that is wanted", () => {
    const looks = [drifted(0, ["hz"]), drifted(30, ["hz"])];
    expect(decisionAfter(looks, REPAIRING)).toEqual({
      ...{ kind: "repair", what: ["same-settings"], handOver: true, settings: true },
    });
    expect(decisionAfter(looks)).toEqual({ kind: "none" });
  });

  it("are left alone if no configured setting differs that servers take without a restart", () => {
    expect(decisionAfter([drifted(0), drifted(30)], REPAIRING)).toEqual({ kind: "none" });
    const users: AssertionLook = { id: "users", holds: false, found: "orders-0: app is missing", nodes: [] };
    expect(decisionAfter([look(0, [users]), look(30, [users])], REPAIRING)).toEqual({ kind: "none" });
  });
});

describe("open slots", () => {
  const OPEN: AssertionLook = { id: "no-moves", holds: false, found: "orders-0 is migrating slot 5", nodes: [] };
  const WORK: OpenSlots = { slots: [7, 5, 6], work: "a", keys: "b", isMigrating: false };
  const moving = (seconds: number, more: Partial<OpenSlots> = {}, others: readonly AssertionLook[] = []): Look =>
    look(seconds, [OPEN, ...others], { openSlots: { ...WORK, ...more } });
  /** A look every 30 s until this time. @param signs signs of work at a time */
  const every30s = (until: number, signs: (seconds: number) => Partial<OpenSlots> = () => ({})): Look[] =>
    Array.from({ length: until / 30 + 1 }, (_, index) => moving(index * 30, signs(index * 30)));
  const why = "the migration of slots 5-7 has not ended; a repair ends it after 5 min without progress";

  it("are left alone for five minutes, and then their migration is ended", () => {
    expect(decisionAfter(every30s(270))).toEqual({ kind: "wait", why: expect.stringContaining(why) as string });
    expect(decisionAfter(every30s(300))).toMatchObject({ kind: "wait", why: "the deployment may recover by itself" });
    expect(decisionAfter(every30s(330))).toEqual({
      ...{ kind: "repair", what: ["no-moves"], handOver: true, abandoned: "a" },
    });
  });

  it("are left alone while somebody moves them, however slowly", () => {
    // Every four minutes somebody sends a command, or a large key arrives.
    const byHand = every30s(7200, (seconds) => ({ work: String(Math.floor(seconds / 240)) }));
    expect(decisionsAfter(byHand).map(({ kind }) => kind)).not.toContain("repair");
    const slowly = every30s(1500, (seconds) => ({ keys: String(Math.floor(seconds / 240)) }));
    expect(decisionsAfter(slowly).map(({ kind }) => kind)).not.toContain("repair");
  });

  it("whose keys clients create and delete are ended after half an hour without work on them", () => {
    const busy = (until: number): Look[] => every30s(until, (seconds) => ({ keys: String(seconds) }));
    expect(decisionAfter(busy(1770)).kind).toBe("wait");
    expect(decisionAfter(busy(1830))).toMatchObject({ kind: "repair", what: ["no-moves"] });
  });

  it("are left alone while an atomic migration runs, and while they cannot be read", () => {
    expect(decisionAfter(every30s(3600, () => ({ isMigrating: true })))).toEqual({
      ...{ kind: "wait", why: "an atomic slot migration is in progress" },
    });
    const unread = every30s(600).map((each, index) => (index % 5 === 0 ? look(index * 30, [OPEN]) : each));
    expect(decisionsAfter(unread).map(({ kind }) => kind)).not.toContain("repair");
    expect(decisionAfter([look(0, [OPEN])])).toEqual({
      ...{ kind: "wait", why: "the assertion no-moves does not hold, and it is unknown which slots are open" },
    });
  });

  it("keep other problems waiting, and wait for servers that do not reply", () => {
    const broken = every30s(330).map((each, index) => moving(index * 30, each.openSlots, [BROKEN]));
    expect(decisionAfter(broken.slice(0, 5))).toMatchObject({
      kind: "wait",
      why: expect.stringContaining(why) as string,
    });
    expect(decisionAfter(broken)).toMatchObject({ kind: "repair", what: ["no-moves", "members"], abandoned: "a" });
    const away: AssertionLook = { id: "reachable", holds: false, found: "orders-2 is away", nodes: ["orders-2"] };
    const unreached = every30s(330).map((each, index) => moving(index * 30, each.openSlots, [away]));
    expect(decisionAfter(unreached)).toEqual({
      kind: "wait",
      why: "a repair can start only when the assertion reachable holds",
    });
  });
});
