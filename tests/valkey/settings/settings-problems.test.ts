import { describe, expect, it } from "vitest";
import knownDirectives from "../../../valkey/settings/known-directives.json";
import { RESERVED_DIRECTIVES } from "../../../valkey/settings/reserved-directives";
import type { SettingsTarget } from "../../../valkey/settings/settings-problems";
import { settingProblems } from "../../../valkey/settings/settings-problems";
import { DYNAMIC_DEFAULTS } from "../../../valkey/settings/dynamic-settings";
import type { ServerSettings } from "../../../valkey/settings/settings";
import { COMPARED_DIRECTIVES } from "../../../valkey/settings/settings";

const reasons = (settings: ServerSettings, target: Partial<SettingsTarget>): string[] =>
  settingProblems(settings, { replicas: 1, ...target }).map(({ name, reason }) => `${name}: ${reason}`);

describe("names of settings", () => {
  it("are those of any directive, a module's as well", () => {
    expect(reasons({ "tcp-backlog": 511, maxmemory: 1, hz: 10, "search.reader-threads": 2 }, {})).toEqual([]);
  });

  it("are refused with the nearest where Valkey has no such directive, unless they are named as newer ones", () => {
    expect(reasons({ "tcp-backlg": 511, frobnicate: true }, {})).toEqual([
      "tcp-backlg: Valkey 8.1 to 9.1 has no directive of this name; did you mean tcp-backlog? If a newer version has the directive, name it in newerDirectives",
      "frobnicate: Valkey 8.1 to 9.1 has no directive of this name. If a newer version has the directive, name it in newerDirectives",
    ]);
    expect(reasons({ frobnicate: true }, { newerDirectives: ["frobnicate"] })).toEqual([]);
  });

  it("are refused where no primary would have the replicas that it needs to accept writes", () => {
    const settings = { "min-replicas-to-write": 2 };
    expect(reasons(settings, { replicas: 1 })).toEqual([
      "min-replicas-to-write: with 2, no primary would accept writes; expected at most 1, the number of replicas of a primary",
    ]);
    expect(reasons(settings, { replicas: 2 })).toEqual([]);
  });

  it("are refused where the image's version does not have them", () => {
    const settings = { "cluster-databases": 4 };
    expect(reasons(settings, { version: "8.1.4-alpine" })).toEqual([
      "cluster-databases: Valkey 8.1 does not have this directive; versions with it: 9.1",
    ]);
    expect(["9.1.2", "9.0.1", "latest", undefined].flatMap((version) => reasons(settings, { version }))).toEqual([]);
  });

  it("are refused with the reason where the deployment decides, for every engine and by no other way", () => {
    const settings = { port: 7000, aclfile: "/x", "availability-zone": "a" };
    const expected = [
      /^port: the deployment decides this directive itself: Services/,
      /^aclfile: .*: passwords and users/,
      /^availability-zone: .*: it is the zone of the machine/,
    ].map((each) => expect.stringMatching(each) as string);
    for (const engine of ["valkey", "redis", "dragonfly"] as const)
      expect(reasons(settings, { engine, newerDirectives: ["port"] })).toEqual(expected);
  });

  it("of other engines are their own", () => {
    expect(reasons({ proactor_threads: 2 }, { engine: "dragonfly" })).toEqual([]);
  });

  it("are known of every directive that this package uses itself", () => {
    const used = [...Object.keys(RESERVED_DIRECTIVES), ...Object.keys(DYNAMIC_DEFAULTS), ...COMPARED_DIRECTIVES];
    const outsideConfigGet = ["user", "include", "loadmodule", "rename-command"];
    expect(used.filter((name) => !(name in knownDirectives) && !outsideConfigGet.includes(name))).toEqual([]);
  });
});
