import { describe, expect, it } from "vitest";
import { errorPrefix, parseRedirect } from "../../valkey/error-replies";

const asked = { host: "10.0.0.9", port: 1 };

describe("parseRedirect", () => {
  it.each([
    ["MOVED 5 10.0.0.1:7000", { kind: "MOVED", slot: 5, endpoint: { host: "10.0.0.1", port: 7000 } }],
    ["ASK 16383 node-1.local:7000", { kind: "ASK", slot: 16383, endpoint: { host: "node-1.local", port: 7000 } }],
    ["REDIRECT 10.0.0.2:7001", { kind: "REDIRECT", endpoint: { host: "10.0.0.2", port: 7001 } }],
    ["TRYAGAIN Multiple keys request during rehashing of slot", { kind: "TRYAGAIN" }],
  ])("reads %s", (text, redirect) => {
    expect(parseRedirect(text, asked)).toEqual(redirect);
  });

  it.each([
    ["MOVED 5 :7000", { host: "10.0.0.9", port: 7000 }],
    ["MOVED 5 ?:7000", { host: "10.0.0.9", port: 7000 }],
    ["REDIRECT :7000", { host: "10.0.0.9", port: 7000 }],
  ])("takes the host of the node that replied where %s names none", (text, endpoint) => {
    expect(parseRedirect(text, asked)).toMatchObject({ endpoint });
  });

  it.each([
    ["MOVED 5 fd00::1:7000", { host: "fd00::1", port: 7000 }],
    ["ASK 5 2001:db8:0:0:1:0:0:1:6379", { host: "2001:db8:0:0:1:0:0:1", port: 6379 }],
    ["MOVED 5 [fd00::1]:7000", { host: "fd00::1", port: 7000 }],
    ["REDIRECT ::1:7000", { host: "::1", port: 7000 }],
  ])("reads the IPv6 address of %s, without brackets", (text, endpoint) => {
    expect(parseRedirect(text, asked)).toMatchObject({ endpoint });
  });

  it.each(["ERR unknown command", "MOVED", "MOVED 5", "MOVED five 10.0.0.1:7000", "MOVED 5 10.0.0.1", "REDIRECT", ""])(
    "finds no redirect in %j",
    (text) => {
      expect(parseRedirect(text, asked)).toBeUndefined();
    },
  );
});

describe("errorPrefix", () => {
  it("is the first word, or ERR where that is no code", () => {
    expect(["CLUSTERDOWN The cluster is down", "ERR x", "-weird"].map(errorPrefix)).toEqual([
      "CLUSTERDOWN",
      "ERR",
      "ERR",
    ]);
  });
});
