/**
 * Deploys the stack `kind` in a namespace of its own: by the Pulumi engine where its CLI is found, else by applying its
 * objects.
 */
import { form } from "../../../valkey/formation/form";
import { awaitPodDeployment } from "../../../platforms/kubernetes/deployment";
import { parseConfig } from "../../../stacks/config/parse";
import { configuredShape } from "../../../stacks/plan/benchmark-plans";
import { outputsSchema } from "../../../stacks/program/outputs";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import { readStackFile } from "../../../stacks/config/sections/stack-file";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { pulumiPath, PulumiStack } from "../../support/pulumi/pulumi-stack";
import { renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { KUBECONFIG, openThrowAwayClient, ThrowAway } from "../../support/kubernetes/throw-away";

const MACHINE = { cores: 64, memoryBytes: 2 ** 40 };
const PASSWORD = "generated";

interface BroughtUp {
  readonly seconds: number;
  /** Steps, and how long each took. */
  readonly what: string;
  /** Seconds of updates that change nothing, one after the other; none without the Pulumi engine. */
  readonly unchanged: readonly number[];
}

const UNCHANGED_UPDATES = 5;

type Sections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Deploys the stack, and removes it again. */
export async function bringUp(): Promise<BroughtUp> {
  const { platform = {}, deployments = {} } = readStackFile(STACKS_DIRECTORY, "kind") as Sections;
  const namespace = `valkey-bench-${process.pid}`;
  const here = await ThrowAway.at(namespace);
  const place = { ...platform, namespace, kubeconfig: KUBECONFIG, zones: (await here.zones()).slice(0, 3) };
  const sections = { platform: place, deployments };
  return pulumiPath() === undefined ? byApplying(here, sections) : byEngine(sections);
}

async function byEngine(sections: Readonly<Record<string, unknown>>): Promise<BroughtUp> {
  const trial = await PulumiStack.open(sections);
  try {
    const timed = async (expectNoChanges: boolean): Promise<number> => {
      const began = performance.now();
      await trial.up({ expectNoChanges });
      return (performance.now() - began) / 1000;
    };
    const seconds = await timed(false);
    const unchanged: number[] = [];
    while (unchanged.length < UNCHANGED_UPDATES) unchanged.push(await timed(true));
    const { topologies } = outputsSchema.parse((await trial.stack.outputs())["valkey"]?.value);
    const formation = topologies.find(({ deployment }) => deployment === "cluster")?.formationMs ?? NaN;
    const names = topologies.map(({ deployment }) => deployment).join(" and ");
    return {
      seconds,
      unchanged,
      what: `pulumi up of ${names} with checks, from nothing; of it formation ${(formation / 1000).toFixed(2)} s`,
    };
  } finally {
    await trial.stack.destroy();
    await trial.close();
  }
}

async function byApplying(here: ThrowAway, sections: Readonly<Record<string, unknown>>): Promise<BroughtUp> {
  const config = parseConfig("stack kind", sections, MACHINE);
  const { platform, deployments } = config;
  if (platform.type !== "kubernetes") throw new Error("the stack kind is not for Kubernetes");
  const { deployOnKubernetes } = await import("../../../stacks/program/platforms/kubernetes.js");
  const objects = await renderObjects(() => deployOnKubernetes("kind", platform, config));
  try {
    const began = performance.now();
    const since = (from: number): string => ((performance.now() - from) / 1000).toFixed(2);
    await here.apply(objects);
    const kubernetes = await openThrowAwayClient();
    const opened = Object.entries(deployments).map(([name, own]) => {
      const plan = {
        ...{ name, mode: own.mode, shape: configuredShape(own), namespace: here.namespace, zones: platform.zones },
        pods: { statefulSet: name },
        directives: new Map<string, string>(),
        access: { password: PASSWORD },
      };
      return awaitPodDeployment(kubernetes, plan, { timeoutMs: 180_000 });
    });
    const servers = await Promise.all(opened);
    const [pods, running] = [since(began), performance.now()];
    // Servers in replication mode find their primary by themselves.
    const formed = servers.map(async (each) => {
      const own = deployments[each.name];
      if (own?.mode === "cluster") await form(each, configuredShape(own));
    });
    await Promise.all(formed);
    const [formation, ready] = [since(running), performance.now()];
    for (const each of servers) {
      const { verdict } = await verifyUntilPass(each, { settlingMs: 30_000 });
      if (!verdict.pass) throw new Error(`${each.name} does not pass verification`);
    }
    return {
      seconds: (performance.now() - began) / 1000,
      unchanged: [],
      what:
        `the objects of ${Object.keys(deployments).join(" and ")} applied and checked, without the Pulumi CLI: ` +
        `pods ran after ${pods} s, formation ${formation} s, verification ${since(ready)} s`,
    };
  } finally {
    await here.close();
  }
}
