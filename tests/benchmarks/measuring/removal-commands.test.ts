import { describe, expect, it } from "vitest";
import { removalCommands } from "../../../benchmarks/measuring/removal-commands";

const node = {
  name: "d-0",
  zone: "a",
  machine: "m",
  endpoint: { host: "fd00::1", port: 7001 },
};
const access = { username: "it's me", password: "secret-of-theirs", tls: { cacert: "/a b/ca.crt", insecure: false } };
const NAMES = {
  strings: { family: "key", count: 16, isUntagged: false },
  collection: { family: "mylist", count: null, isUntagged: false },
  memtier: { family: "memtier-", count: 9, isUntagged: true },
  library: { family: "functions", count: null, isUntagged: false },
};

describe("commands that remove what is left", () => {
  it("name exactly the keys of the measurement, in either mode, and no secret", () => {
    const lines = (mode: "cluster" | "replication"): string[] =>
      removalCommands(
        { name: "d", mode, access },
        {
          user: "valkey-measured-x",
          keys: Object.values(NAMES),
          mark: "mark",
          uncleaned: [{ node, why: "gone\naway", hasUser: true, hasKeys: true }],
        },
      );
    const cli = `valkey-cli -h fd00::1 -p 7001 --user 'it'\\''s me' --tls --cacert '/a b/ca.crt'`;
    expect(lines("replication")).toEqual([
      "# d: a measurement left its user and keys. To remove them when the nodes reply, type:",
      "export VALKEYCLI_AUTH=…   # the password of the user it's me",
      "# d-0: gone away",
      `${cli} ACL DELUSER valkey-measured-x`,
      `${cli} --scan --pattern 'key*' | awk -F: '/^key:[0-9]+$/ && $NF < 16 {print "UNLINK " $0}' | ${cli} | sort | uniq -c`,
      `${cli} UNLINK mylist`,
      `${cli} --scan --pattern 'memtier-*' | awk -F- '/^memtier-[0-9]+$/ && $NF <= 9 {print "UNLINK " $0}' | ${cli} | sort | uniq -c`,
      `${cli} FUNCTION DELETE benchlib`,
      `${cli} UNLINK mark`,
    ]);
    const inCluster = lines("cluster").join("\n");
    expect(inCluster).toContain(`/^key:[{][0-9A-Za-z]+[}]+:[0-9]+$/ && $NF < 16 {print "UNLINK " $0}' | ${cli} -c |`);
    expect(inCluster).toContain(`/^mylist:[{][0-9A-Za-z]+[}]+$/ {print "UNLINK " $0}'`);
    expect(inCluster).not.toContain("secret");
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
