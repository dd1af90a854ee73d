import { describe, expect, it } from "vitest";
import { infoFields, infoNumber, parseInfo } from "../../../valkey/topology/info";
import { fixture } from "../../support/fixtures";

describe("INFO", () => {
  it.each(["8.0", "9.1"])("of Valkey %s is read", (version) => {
    const info = parseInfo(fixture(`info-${version}`));
    expect(info.get("server_name")).toBe("valkey");
    expect(info.get("valkey_version")).toMatch(new RegExp(`^${version.replace(".", "\\.")}\\.`));
    expect(infoNumber(info, "keyspace_hits")).toBe(0);
    expect(Number(infoFields(info.get("cmdstat_info") ?? "").get("calls"))).toBeGreaterThan(0);
  });

  it("gives no number for what is missing or none, rather than 0", () => {
    const info = new Map([
      ["a", ""],
      ["b", "x"],
      ["c", "0"],
      ["d", " 12.5"],
    ]);
    expect(["a", "b", "c", "d", "e"].map((key) => infoNumber(info, key))).toEqual([
      undefined,
      undefined,
      0,
      12.5,
      undefined,
    ]);
  });

  it("keeps colons within values", () => {
    expect(parseInfo("# Server\r\nexecutable:/a:b\r\n").get("executable")).toBe("/a:b");
  });
});
