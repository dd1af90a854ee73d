import { describe, expect, it } from "vitest";
import type { Problem } from "../../../lib/errors";
import { testProblems } from "../../support/problems";
import knownDirectives from "../../../valkey/settings/known-directives.json";
import { type SettingsTarget, settingProblems, RESERVED_DIRECTIVES } from "../../../valkey/settings/settings-problems";
import { DYNAMIC_DEFAULTS } from "../../../valkey/settings/dynamic-settings";
import { type ServerSettings, COMPARED_DIRECTIVES } from "../../../valkey/settings/settings";

const problems = (settings: ServerSettings, target: Partial<SettingsTarget> = {}): readonly Problem[] =>
  settingProblems(settings, { replicas: 1, ...target });
const databases = { "cluster-databases": 4 };
const writes = { "min-replicas-to-write": 2 };

describe("names of settings", () => {
  testProblems("../settings-problems.txt", problems, [
    ["unknown-directive tcp-backlg", { "tcp-backlg": 511 }],
    ["unknown-directive frobnicate", { frobnicate: true }],
    ["no-writes min-replicas-to-write", writes],
    ["not-in-version cluster-databases", databases, { version: "8.1.4-alpine" }],
    ["reserved port", { port: 7000 }],
    ["reserved aclfile", { aclfile: "/x" }, { engine: "redis" }],
    ["reserved availability-zone", { "availability-zone": "a" }, { engine: "dragonfly" }],
    ["reserved port", { port: 7000 }, { newerDirectives: ["port"] }],
    ["refused-value timeout", { timeout: -1 }],
    ["refused-value timeout", { timeout: "5m" }],
    ["refused-value client-query-buffer-limit", { "client-query-buffer-limit": "64Mi" }],
    ["refused-value lazyfree-lazy-expire", { "lazyfree-lazy-expire": "on" }],
    ["refused-value loglevel", { loglevel: "" }],
  ]);

  it.each<[ServerSettings, Partial<SettingsTarget>?]>([
    [{ "tcp-backlog": 511, maxmemory: 1, hz: 10, "search.reader-threads": 2 }],
    [{ frobnicate: true }, { newerDirectives: ["frobnicate"] }],
    [writes, { replicas: 2 }],
    ...["9.1.2", "9.0.1", "latest", undefined].map((version): [ServerSettings, object] => [databases, { version }]),
    [{ proactor_threads: 2, timeout: -1 }, { engine: "dragonfly" }],
    [{ timeout: 0, loglevel: "Notice", "lazyfree-lazy-expire": true, "stream-node-max-bytes": "4KB" }],
    [{ "oom-score-adj-values": "0 200 800", "maxmemory-clients": "5%", save: "" }],
  ])("may be %j of %j", (settings, target) => {
    expect(problems(settings, target)).toEqual([]);
  });

  it("are known of every directive that this package uses itself", () => {
    const used = [...Object.keys(RESERVED_DIRECTIVES), ...Object.keys(DYNAMIC_DEFAULTS), ...COMPARED_DIRECTIVES];
    const outsideConfigGet = ["user", "include", "loadmodule", "rename-command"];
    expect(used.filter((name) => !(name in knownDirectives) && !outsideConfigGet.includes(name))).toEqual([]);
  });
});
