import { type Problem, BadInput, messageOf, problem } from "../../lib/errors";
import { z } from "zod";
import { changesOf, type Look } from "../../operations/inspection/look";
import { LookEndpoint } from "../../operations/inspection/endpoint";
import { type Watched, watch } from "../../operations/inspection/watch";
import { inspectDeployment } from "../../operations/inspection/drift";
import type { Endpoint } from "../../valkey/node";
import { compareData, verify } from "../../valkey/verification/verify";
import { deployedTargets } from "../targets/deployed-stack";
import { externalDeployment, refuseSameServers } from "../targets/external";
import { print } from "../terminal/terminal";
import { refuseServerOptions } from "./status";
import type { OptionValues } from "../running/options";

const SHORTEST_SECONDS = 1;
const DEFAULT_HOST = "127.0.0.1";
const EXPECTED_ADDRESS = "expected [HOST:]PORT with a port from 1 to 65535, such as 9121 or 0.0.0.0:9121";

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

export async function watchDeployments(
  stack: string | undefined,
  { every, metrics, json, ...servers }: OptionValues,
  signal: AbortSignal,
): Promise<number> {
  const { options, problems } = readOptions({ every, metrics, json });
  const subjects =
    stack === undefined ? [await watchedServers(servers, problems)] : await watchedStack(stack, servers, problems);
  const endpoint =
    options.metrics &&
    (await LookEndpoint.open(options.metrics).catch((error: unknown) => {
      throw BadInput.of("watch", "metrics-unusable", messageOf(error), "--metrics");
    }));
  const names = subjects.map(({ name }) => name).join(", ");
  if (!options.json) print(`Verifying ${names} every ${options.every} s.`);
  try {
    const last = await Promise.all(subjects.map((each) => watchSubject(each, options, endpoint, signal)));
    return last.every((look) => look?.pass === true) ? 0 : 1;
  } finally {
    endpoint?.close();
  }
}

function watchSubject(
  subject: Watched,
  { every, json }: z.infer<typeof watchSchema>,
  endpoint: LookEndpoint | undefined,
  signal: AbortSignal,
): Promise<Look | undefined> {
  const onLook = (look: Look, former: Look | undefined): void => {
    endpoint?.record(look, former);
    const changes = changesOf(former, look);
    if (json) print(JSON.stringify({ ...look, changes }));
    else print(...changes.map((change) => `${look.at} ${change}`));
  };
  return watch(subject, { everyMs: every * 1000, signal, onLook });
}

function readOptions(values: OptionValues): {
  readonly options: z.infer<typeof watchSchema>;
  readonly problems: readonly Problem[];
} {
  const parsed = watchSchema.safeParse(values);
  if (parsed.success) return { options: parsed.data, problems: [] };
  const problems = parsed.error.issues.map(({ path, message }) =>
    problem("wrong-value", `--${path.join(".")}`, message),
  );
  return { options: watchSchema.parse({}), problems };
}

function endpointIn(text: string): Endpoint {
  const at = text.lastIndexOf(":");
  const host = at < 0 ? DEFAULT_HOST : text.slice(0, at).replace(/^\[|\]$/g, "");
  return { host, port: Number(text.slice(at + 1)) };
}

async function watchedServers(values: OptionValues, problems: readonly Problem[]): Promise<Watched> {
  const { deployment, without } = externalDeployment(values, process.env, problems);
  await refuseSameServers(deployment);
  return {
    name: deployment.name,
    inspect: async (_signal, former) => ({ ...compareData(await verify(deployment, without), former), drift: [] }),
  };
}

async function watchedStack(stack: string, servers: OptionValues, problems: readonly Problem[]): Promise<Watched[]> {
  refuseServerOptions("watch", servers, problems);
  const targets = await deployedTargets(stack, process.cwd());
  return targets.map(({ target, password }) => ({
    name: target.name,
    inspect: (signal, former) => inspectDeployment(target, password, { former, signal }),
  }));
}
