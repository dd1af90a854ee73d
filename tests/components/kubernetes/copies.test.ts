/** Functions of the start scripts that compare copies of a data set by their marks. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const SCRIPTS = join(__dirname, "../../../components/kubernetes/scripts");

function shell(script: string, variables: Readonly<Record<string, string | number>> = {}, input = ""): string {
  const assignments = Object.entries(variables).map(([name, value]) => `${name}='${value}'`);
  const text = [`. ${SCRIPTS}/node.sh`, `. ${SCRIPTS}/copies.sh`, ...assignments, script].join("\n");
  return execFileSync("sh", ["-c", text], { input, encoding: "utf8" }).trim();
}

describe("relation of another server's copy to a disk", () => {
  /** The disk has A up to 100, unless it is said otherwise; A continued B at 50, and B continued C at 20. */
  const disk = {
    disk: "aof",
    history: "A",
    offset: 100,
    lowest: 90,
    marked: "A:90:B:50:C:20",
    keys: "yes",
    applied: 0,
  };
  const snapshot = { ...disk, disk: "rdb", history: "B", offset: 40, lowest: 40 };
  it.each([
    ["more", "has the same replication ID and a higher offset", disk, "A:101", "yes"],
    ["same", "has the same replication ID and offset", disk, "A:100", "yes"],
    ["less", "has the same replication ID and a lower offset", disk, "A:89", "yes"],
    ["same", "may lack pings only", disk, "A:95", "yes"],
    ["more", "was promoted when it may have lacked pings only", disk, "D:500:A:90", "yes"],
    ["more", "was promoted when it had everything", disk, "D:500:A:100", "yes"],
    ["parted", "was promoted when it had a part", disk, "D:500:A:89", "yes"],
    ["more", "was promoted twice, as its own disk says", disk, "E:1:D:500:A:100", "no"],
    ["parted", "was promoted twice, the first time with a part", disk, "E:1:D:500:A:89", "no"],
    ["less", "is a replica that has been away since the promotion before", disk, "B:50", "yes"],
    ["parted", "led on by itself after the promotion before", disk, "B:51", "yes"],
    ["less", "has been away since two promotions before", disk, "C:10", "no"],
    ["parted", "was promoted by itself from an earlier copy", disk, "F:900:B:50", "yes"],
    ["more", "is linked, and all of its history began after the mark", disk, "X:7", "yes"],
    ["less", "has only loaded its own disk, whose history nobody knows", disk, "X:7000", "no"],
    ["more", "continues the replication ID of an older snapshot, as the mark says", snapshot, "A:90", "yes"],
    ["more", "has more of the replication ID of an older snapshot", snapshot, "B:41", "yes"],
    ["parted", "went on where the snapshot had more", { ...snapshot, offset: 60, lowest: 60 }, "A:90", "yes"],
    [
      "more",
      "has the replication ID of the mark, and the snapshot has none",
      { ...snapshot, history: "A", offset: -1, lowest: -1 },
      "A:0",
      "yes",
    ],
    [
      "more",
      "has data, and the disk has none",
      { ...disk, disk: "none", history: "", offset: -1, lowest: -1 },
      "X:7",
      "no",
    ],
    ["less", "has no data", { ...disk, keys: "no" }, "X:7", "yes"],
    [
      "more",
      "is linked, and there is no mark",
      { ...disk, history: "", offset: -1, lowest: -1, marked: "" },
      "X:7",
      "yes",
    ],
  ])("is %s if that server %s", (expected, _what, own, copy, synced) => {
    expect(shell("relation", { ...own, copy, synced })).toBe(expected);
  });
});

describe("the best copy", () => {
  const best = (last: string, ...lines: readonly string[]): string => shell("best", { last }, `${lines.join("\n")}\n`);

  it("is the one that has most of what the mark names, whatever its role", () => {
    expect(best("A", "primary 900 old D:900:A:40", "linked 99 new A:99", "loaded 60 mid A:60", "silent 0 x ")).toBe(
      "linked new",
    );
  });
  it("went on from there, if it has as much", () => {
    expect(best("A", "linked 99 left A:99", "primary 100 next D:100:A:99", "loaded 80 less A:80")).toBe("primary next");
  });
  it("is compared by what another copy continues, without a mark", () => {
    expect(best("", "primary 900 old D:900:A:40", "linked 99 new A:99")).toBe("linked new");
  });
  it("is a primary, then a copy of one, where nothing is known in common", () => {
    expect(best("", "loaded 900 own X:900", "linked 5 copy Y:5")).toBe("linked copy");
    expect(best("Z", "linked 900 copy Y:900", "primary 5 leader W:5")).toBe("primary leader");
  });
  it("does not exist where none has more", () => {
    expect(best("A", "poor 1 a A:1", "busy 0 b ", "silent 0 c ")).toBe("");
  });
});

describe("the seconds for which a starting primary waits", () => {
  const EVER = "1000000000";
  it.each([
    ["60", "a replica is silent", "60", "no", ["poor", "silent"]],
    ["0", "all answer, and none has more", "60", "no", ["poor", "level"]],
    [EVER, "a replica has more, until it has taken over", "60", "no", ["silent", "linked 7 b B:7"]],
    [EVER, "a replica has loaded more, until it has taken over", "60", "no", ["loaded 7 b B:7"]],
    ["60", "a replica is still loading its data", "60", "no", ["busy"]],
    ["60", "a replica is silent, the disk is an append-only file", "default", "yes", ["silent"]],
    [EVER, "a replica is silent, the disk is a snapshot or empty", "default", "no", ["silent", "poor"]],
    ["60", "a replica is silent, another one has had a primary", "default", "no", ["silent", "level"]],
    [EVER, "a replica is silent, and it shall wait", "wait", "yes", ["silent", "level"]],
  ])("are %s when %s (%s, append-only file: %s)", (expected, _when, given, appendonly, seen) => {
    const script = `setting() { echo ${appendonly}; }\nlimits ${given}\npatience_for`;
    expect(shell(script, { DATA: "/nowhere", durable: "no", seen: seen.join("\n") })).toBe(expected);
  });
});
