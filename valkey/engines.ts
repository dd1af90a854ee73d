/** What may serve: Valkey, and what one would compare it with. Pure. */

/** `redis` and `dragonfly` speak Valkey's protocol and answer its load generator. */
export const ENGINES = ["valkey", "redis", "dragonfly"] as const;
export type Engine = (typeof ENGINES)[number];

/** How Valkey is told what it is told; Redis has the same by older names, Dragonfly has flags of its own. */
export type SettingsSyntax = "directives" | "flags";

export const SETTINGS_SYNTAX: Readonly<Record<Engine, SettingsSyntax>> = {
  valkey: "directives",
  redis: "directives",
  dragonfly: "flags",
};
