/** `npm start -- watch`: verifies deployments again and again, and prints what changes. */
import { z } from "zod";
import { BadInput, messageOf } from "../../lib/errors";
import { changesOf } from "../../controller/look";
import type { Look } from "../../controller/look";
import { LookEndpoint } from "../../controller/endpoint";
import type { Watched } from "../../controller/watch";
import { watch } from "../../controller/watch";
import { inspectDeployment } from "../../provider/updates/drift";
import type { Endpoint } from "../../valkey/node";
import { verify } from "../../valkey/verification/verify";
import { deployedTargets } from "../targets/deployed-stack";
import { externalDeployment } from "../targets/external";
import { print } from "../terminal/terminal";
import { refuseServerOptions } from "./status";

/** Shortest time between two looks, seconds. Each look sends some commands to every node. */
const SHORTEST_SECONDS = 1;
const DEFAULT_HOST = "127.0.0.1";
const EXPECTED_ADDRESS = "expected [HOST:]PORT with a port from 1 to 65535, such as 9121 or 0.0.0.0:9121";

/** Options of the command itself, without the options that name servers. */
export const watchSchema = z.object({
  every: z.coerce
    .number("expected seconds")
    .min(SHORTEST_SECONDS, `expected at least ${SHORTEST_SECONDS} s`)
    .default(30),
  metrics: z
    .string()
    .regex(/^(?:(\[[0-9a-fA-F:]+\]|[^:\s[\]]+):)?\d{1,5}$/, EXPECTED_ADDRESS)
    .transform(endpointIn)
    .refine(({ port }) => port >= 1 && port <= 65_535, EXPECTED_ADDRESS)
    .optional(),
  json: z.boolean().default(false),
});

/**
 * Watches the deployments of a stack, or servers that exist already, until the signal is aborted.
 * @param stack undefined to watch the servers that the options name
 * @returns 0 if every deployment passed verification in the last look at it, else 1
 * @throws BadInput with every problem of the options, before any server is asked
 */
export async function watchDeployments(
  stack: string | undefined,
  { every, metrics, json, ...servers }: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<number> {
  const { options, problems } = readOptions({ every, metrics, json });
  const watched =
    stack === undefined ? [watchedServers(servers, problems)] : await watchedStack(stack, servers, problems);
  const endpoint =
    options.metrics &&
    (await LookEndpoint.open(options.metrics).catch((error: unknown) => {
      throw new BadInput("watch", [`--metrics: ${messageOf(error)}`]);
    }));
  if (!options.json) print(`Looking at ${watched.map(({ name }) => name).join(", ")} every ${options.every} s.`);
  const onLook = (look: Look, former: Look | undefined): void => {
    endpoint?.record(look, former);
    const changes = changesOf(former, look);
    if (options.json) print(JSON.stringify({ ...look, changes }));
    else print(...changes.map((change) => `${look.at} ${change}`));
  };
  try {
    const everyMs = options.every * 1000;
    const last = await Promise.all(watched.map((each) => watch(each, { everyMs, signal, onLook })));
    return last.every((look) => look?.pass === true) ? 0 : 1;
  } finally {
    endpoint?.close();
  }
}

/** The command's own options, and their problems. */
function readOptions(values: Readonly<Record<string, unknown>>): {
  readonly options: z.infer<typeof watchSchema>;
  readonly problems: readonly string[];
} {
  const parsed = watchSchema.safeParse(values);
  if (parsed.success) return { options: parsed.data, problems: [] };
  const problems = parsed.error.issues.map(({ path, message }) => `--${path.join(".")}: ${message}`);
  return { options: watchSchema.parse({}), problems };
}

function endpointIn(text: string): Endpoint {
  const at = text.lastIndexOf(":");
  const host = at < 0 ? DEFAULT_HOST : text.slice(0, at).replace(/^\[|\]$/g, "");
  return { host, port: Number(text.slice(at + 1)) };
}

function watchedServers(values: Readonly<Record<string, unknown>>, problems: readonly string[]): Watched {
  const { deployment, without } = externalDeployment(values, process.env, problems);
  return {
    name: deployment.name,
    inspect: async () => {
      const verification = await verify(deployment, without);
      return { verification, drift: [] };
    },
  };
}

async function watchedStack(
  stack: string,
  servers: Readonly<Record<string, unknown>>,
  problems: readonly string[],
): Promise<Watched[]> {
  refuseServerOptions("watch", servers, problems);
  const targets = await deployedTargets(stack, process.cwd());
  return targets.map(({ target, password }) => ({
    name: target.name,
    inspect: (signal) => inspectDeployment(target, password, { signal }),
  }));
}
