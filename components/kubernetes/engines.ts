/** Differences between engines in a pod: programs, names of directives, flags instead of directives. Pure. */
import type { Engine } from "../../valkey/settings/engines";
import type { ServerSettings } from "../../valkey/settings/settings";
import { CLIENT_PORT, DATA_DIRECTORY, SECRET_DIRECTORY } from "./layout";

/** Engines that read a valkey.conf. */
export type DirectiveEngine = Exclude<Engine, "dragonfly">;

/** Programs of their images, and the directive by which a replica shows its password. */
export const ENGINE_PROGRAMS: Readonly<
  Record<DirectiveEngine, { readonly server: string; readonly client: string; readonly primaryPassword: string }>
> = {
  valkey: { server: "valkey-server", client: "valkey-cli", primaryPassword: "primaryauth" },
  redis: { server: "redis-server", client: "redis-cli", primaryPassword: "masterauth" },
};

/** @throws Error for Dragonfly, which reads flags: callers handle it before */
export function directiveEngine(engine: Engine | undefined): DirectiveEngine {
  if (engine === "dragonfly") throw new Error("Dragonfly reads flags, not directives");
  return engine ?? "valkey";
}

/** File of the secret with Dragonfly's password flags: other users can read a command line. */
export const DRAGONFLY_FLAGS_FILE = "flags";

export function dragonflyPasswordFlags(password: string): string {
  return `--requirepass=${password}\n--masterauth=${password}\n`;
}

/**
 * Dragonfly's command line in "Dragonfly head-to-head": nothing is kept on disk, and the engine starts a thread per
 * CPU. Scripts may use undeclared keys, as the script that writes the key space does.
 */
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
