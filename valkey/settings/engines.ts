/** The servers that a deployment can run: Valkey, and those it is compared with. Pure. */

/** `redis` and `dragonfly` speak Valkey's protocol, and valkey-benchmark can measure them. */
export const ENGINES = ["valkey", "redis", "dragonfly"] as const;
export type Engine = (typeof ENGINES)[number];

/** How an engine takes its settings: as Valkey's directives (Redis has the same ones), or as command-line flags. */
export type SettingsSyntax = "directives" | "flags";

/** The syntax of each engine's settings. */
export const SETTINGS_SYNTAX: Readonly<Record<Engine, SettingsSyntax>> = {
  valkey: "directives",
  redis: "directives",
  dragonfly: "flags",
};
