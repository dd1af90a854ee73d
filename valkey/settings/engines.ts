/** Names of the servers. `redis` and `dragonfly` use Valkey's protocol, so valkey-benchmark can measure them. */
export const ENGINES = ["valkey", "redis", "dragonfly"] as const;
export type Engine = (typeof ENGINES)[number];

type SettingsSyntax = "directives" | "flags";

export const SETTINGS_SYNTAX: Readonly<Record<Engine, SettingsSyntax>> = {
  valkey: "directives",
  redis: "directives",
  dragonfly: "flags",
};
