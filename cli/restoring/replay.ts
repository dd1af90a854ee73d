import { type Problem, BadInput, Failure, problem } from "../../lib/errors";
import { counted, formatCount } from "../../lib/units";
import { openDeployment } from "../../platforms/deployment-reference";
import type { Programs } from "../../platforms/host/programs/programs";
import { stageSets } from "../../backup/restoring/staging";
import { stagingProcesses } from "../../backup/restoring/start-restored";
import { unmatchedProblems } from "../../backup/restoring/key-selection";
import type { PodWaitOptions } from "../../platforms/kubernetes/pods/running-pods";
import type { Copies } from "../../backup/restoring/copying/key-writer";
import type { ReplaySource } from "../../backup/restoring/key-reader";
import { missingDatabases, replayKeys } from "../../backup/restoring/copying/replay-keys";
import { scanWanted } from "../../backup/restoring/wanted-keys";
import { readLayout } from "../../backup/archive/shard-layout";
import type { Deployment } from "../../valkey/deployment";
import type { RdbKey } from "../../backup/rdb/rdb-visitor";
import { readFileInPieces } from "../../backup/rdb/walk";
import { type OptionValues, problemsOf } from "../running/options";
import type { LocalServers } from "../running/local-servers";
import { deployedTargets, findTarget } from "../targets/deployed-stack";
import { externalDeployment, refuseUnlikeServers } from "../targets/external";
import { runSteps } from "../terminal/steps";
import { print } from "../terminal/terminal";
import type { RestoreOrder } from "./restore-run";

const NAMED = 100;
/** Options of `restore` that describe a new deployment, so they cannot be combined with `--replay-into`. */
const OF_NEW = ["into", "shards", "replicas", "check"];
const OF_SERVERS = ["node", "nodes", "user", "tls", "cacert", "cert", "key", "sni", "insecure"];
const OF_REPLAY = ["overwrite", "stack", "deployment", ...OF_SERVERS];

export interface ReplayTarget {
  readonly open: (waiting: PodWaitOptions) => Promise<Deployment>;
  readonly overwrite: boolean;
}

export function readReplay(
  values: OptionValues,
  problems: Problem[],
  environment = process.env,
): ReplayTarget | undefined {
  const given = (names: readonly string[]): string[] => names.filter((name) => values[name] !== undefined);
  if (values["replayInto"] !== true) {
    for (const name of given(OF_REPLAY))
      problems.push(problem("needs-replay", `--${name}`, " applies only with --replay-into"));
    return undefined;
  }
  for (const name of given(OF_NEW))
    problems.push(problem("not-with-replay", `--${name}`, " does not apply with --replay-into"));
  const { stack, deployment, mode } = values;
  const overwrite = values["overwrite"] === true;
  if (typeof stack === "string") {
    for (const name of given(["mode", ...OF_SERVERS]))
      problems.push(problem("not-with-stack", `--${name}`, " applies to servers without a stack, not to --stack"));
    return { open: (waiting) => stackDeployment(stack, deployment, waiting), overwrite };
  }
  if (deployment !== undefined) problems.push(problem("needs-stack", "--deployment", " applies to a stack only"));
  try {
    const servers = Object.fromEntries(OF_SERVERS.map((name) => [name, values[name]]));
    const external = externalDeployment({ mode, ...servers }, environment).deployment;
    return {
      open: async () => {
        await refuseUnlikeServers(external);
        return external;
      },
      overwrite,
    };
  } catch (error) {
    problems.push(...problemsOf(error, "--replay-into"));
    return undefined;
  }
}

async function stackDeployment(stack: string, name: unknown, waiting: PodWaitOptions): Promise<Deployment> {
  const targets = await deployedTargets(stack, process.cwd());
  const chosen = findTarget(targets, name);
  const names = targets.map(({ target }) => target.name).join(", ");
  if (chosen === undefined)
    throw BadInput.of("restore", "deployment-not-named", `name one of stack ${stack}: ${names}`, "--deployment");
  return openDeployment(chosen.target, chosen.password, waiting);
}

export async function replay(
  { restored, keys, ttl }: Pick<RestoreOrder, "restored" | "keys" | "ttl">,
  { open, overwrite }: ReplayTarget,
  programs: Programs,
  servers: LocalServers,
): Promise<number> {
  // No server is started for a deployment that does not answer.
  const target = await connectTo(open, servers.signal);
  const host = servers.create("restore", programs);
  const { signal } = servers;
  const isWanted = ({ key }: RdbKey): boolean => keys.has(key);
  let sources: readonly ReplaySource[] = [];
  let copies: Copies | undefined;
  try {
    await runSteps([
      {
        title: `Load the sets of ${counted(restored.shards.length, "shard")}`,
        run: async (report) => {
          const staged = await stageSets(stagingProcesses(host), restored, ttl, { signal, report });
          sources = staged.map(({ file, ...source }) => ({ ...source, open: () => readFileInPieces(file) }));
          const missing = await missingDatabases(target, (await scanWanted(sources, isWanted)).databases);
          const problems = [...unmatchedProblems(keys, "--keys"), ...(missing === undefined ? [] : [missing])];
          if (problems.length > 0) throw new Failure(`nothing was copied: ${problems.join("; ")}`);
          return undefined;
        },
      },
      {
        title: `Copy keys to ${target.name}`,
        run: async (report) => {
          const onProgress = (count: number): void => {
            report(counted(count, "key"), true);
          };
          copies = await replayKeys({ sources, target, isWanted, overwrite, signal, onProgress });
          return undefined;
        },
      },
    ]);
  } catch (error) {
    throw servers.causeOf(error);
  } finally {
    await host.stop();
  }
  if (copies !== undefined) print("", ...formatCopies(target.name, copies));
  return copies?.differing.length === 0 ? 0 : 1;
}

async function connectTo(open: ReplayTarget["open"], signal: AbortSignal): Promise<Deployment> {
  let target: Deployment | undefined;
  await runSteps([
    {
      title: "Connect to the deployment",
      run: async (report) => {
        target = await open({ signal, report });
        const { shards } = await readLayout(target);
        return `Connected to ${target.name} (${counted(shards.length, "shard")})`;
      },
    },
  ]);
  if (target === undefined) throw new Error("the step above opens the deployment");
  return target;
}

export function formatCopies(target: string, { copied, kept, expired, differing }: Copies): string[] {
  const rest = differing.length - NAMED;
  return [
    ...differing
      .slice(0, NAMED)
      .map(
        ({ database, key }) =>
          `  database ${database}, key ${JSON.stringify(key.toString())}: different after the copy`,
      ),
    ...(rest > 0 ? [`  and ${counted(rest, "more key")}`] : []),
    `REPLAY into ${target}: ${differing.length === 0 ? "PASS" : "FAIL"} — ${formatCount(copied)} copied, ` +
      `${formatCount(kept)} kept, ${formatCount(expired)} expired, ${formatCount(differing.length)} differing.`,
  ];
}
