import { describe, expect, it } from "vitest";
import { infoFields, infoNumber, parseFlatReply, parseInfo } from "../../../valkey/topology/replies";
import { fixture } from "../../support/fixtures";

describe("INFO", () => {
  it.each(["8.0", "9.1"])("of Valkey %s is read", (version) => {
    const info = parseInfo(fixture(`info-${version}`));
    expect(info.get("server_name")).toBe("valkey");
    expect(info.get("valkey_version")).toMatch(new RegExp(`^${version.replace(".", "\\.")}\\.`));
    expect(infoNumber(info, "keyspace_hits")).toBe(0);
    expect(Number(infoFields(info.get("cmdstat_info") ?? "").get("calls"))).toBeGreaterThan(0);
  });

  it("has no number, rather than 0, for a key that is missing or no number", () => {
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

  it("is also read from a flat reply of names and values", () => {
    expect([...parseFlatReply(["ip", "10.0.0.1", "port", 6379])]).toEqual([
      ["ip", "10.0.0.1"],
      ["port", "6379"],
    ]);
    expect(parseFlatReply(null).size).toBe(0);
  });

  it("keeps colons within values", () => {
    expect(parseInfo("# Server\r\nexecutable:/a:b\r\n").get("executable")).toBe("/a:b");
  });
});
