import { describe, expect, it } from "vitest";
import { expectReviewed } from "../../support/reviewed";
import { removalCommands } from "../../../benchmarks/measuring/removal-commands";

const node = { name: "d-0", zone: "a", machine: "m", endpoint: { host: "fd00::1", port: 7001 } };
const access = { username: "it's me", password: "secret-of-theirs", tls: { cacert: "/a b/ca.crt", insecure: false } };
const NAMES = {
  strings: { family: "key", count: 16, isUntagged: false },
  collection: { family: "mylist", count: null, isUntagged: false },
  memtier: { family: "memtier-", count: 9, isUntagged: true },
  library: { family: "functions", count: null, isUntagged: false },
};

describe("commands that remove what is left", () => {
  it("name exactly the keys of the measurement, in either mode, and no secret", async () => {
    const lines = (mode: "cluster" | "replication"): string[] =>
      removalCommands(
        { name: "d", mode, access },
        {
          ...{ user: "valkey-measured-x", keys: Object.values(NAMES), mark: "mark" },
          uncleaned: [{ node, why: "gone\naway", hasUser: true, hasKeys: true }],
        },
      );
    const [replication, cluster] = [lines("replication"), lines("cluster")];
    expect([...replication, ...cluster].join("\n")).not.toContain("secret");
    await expectReviewed("benchmarks/removal-commands", "Commands that remove what a measurement left.", {
      replication,
      cluster,
    });
  });

  it("are only for what a node has", () => {
    const uncleaned = [{ node, why: "", hasUser: true, hasKeys: false }];
    const left = { user: "valkey-measured-x", keys: [NAMES.strings], mark: "mark", uncleaned };
    expect(removalCommands({ name: "d", mode: "cluster", access: {} }, left)).toEqual([
      "# d: a measurement left its user. To remove them when the nodes reply, type:",
      "# d-0",
      "valkey-cli -h fd00::1 -p 7001 ACL DELUSER valkey-measured-x",
    ]);
  });
});
