/** Differences between engines in a pod: programs, names of directives, flags instead of directives. */
import type { Engine } from "../../valkey/settings/engines";
import type { ServerSettings } from "../../valkey/settings/settings";
import { CLIENT_PORT, DATA_DIRECTORY, SECRET_DIRECTORY } from "./layout";

export type DirectiveEngine = Exclude<Engine, "dragonfly">;

/** Programs in the engine's image, and the directive with the password that a replica sends to its primary. */
export const ENGINE_PROGRAMS: Readonly<
  Record<DirectiveEngine, { readonly server: string; readonly client: string; readonly primaryPassword: string }>
> = {
  valkey: { server: "valkey-server", client: "valkey-cli", primaryPassword: "primaryauth" },
  redis: { server: "redis-server", client: "redis-cli", primaryPassword: "masterauth" },
};

/** @throws Error for Dragonfly, which reads flags; callers handle it before */
export function directiveEngine(engine: Engine | undefined): DirectiveEngine {
  if (engine === "dragonfly") throw new Error("Dragonfly reads flags, not directives");
  return engine ?? "valkey";
}

/** In the Secret, because other users could read the command line. */
export const DRAGONFLY_FLAGS_FILE = "flags";

export function dragonflyPasswordFlags(password: string): string {
  return `--requirepass=${password}\n--masterauth=${password}\n`;
}

/** As in "Dragonfly head-to-head": nothing on disk, a thread per CPU. The prefill uses undeclared keys. */
export function dragonflyFlags(settings: ServerSettings): string[] {
  const own = Object.entries(settings).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return typeof value === "boolean" ? `--${value ? "" : "no"}${name}` : `--${name}=${value}`;
  });
  return [
    `--port=${CLIENT_PORT}`,
    `--dir=${DATA_DIRECTORY}`,
    "--dbfilename=",
    "--logtostderr",
    "--default_lua_config=allow-undeclared-keys",
    `--flagfile=${SECRET_DIRECTORY}/${DRAGONFLY_FLAGS_FILE}`,
    ...own,
  ];
}
