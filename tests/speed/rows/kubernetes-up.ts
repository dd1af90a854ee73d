/**
 * Deploys the stack `kind` in a namespace of its own: by the Pulumi engine where its CLI is found, else by applying its
 * objects.
 */
import { form } from "../../../valkey/formation/form";
import { awaitKubernetesDeployment } from "../../../platforms/kubernetes/deployment";
import { parseConfig } from "../../../stacks/config/parse";
import { outputsSchema } from "../../../stacks/program/outputs";
import { STACKS_DIRECTORY } from "../../../stacks/config/paths";
import { readStackFile } from "../../../stacks/config/stack-file";
import { verifyUntilPass } from "../../../valkey/verification/verify";
import { pulumiPath, PulumiStack } from "../../support/pulumi/pulumi-stack";
import { openThrowaway } from "../../support/kubernetes/kubernetes";
import { renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { KUBECONFIG, ThrowAway } from "../../support/kubernetes/throw-away";

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
  const chart = process.env["VALKEY_TEST_CHART"];
  const place = {
    ...platform,
    namespace,
    kubeconfig: KUBECONFIG,
    zones: (await here.zones()).slice(0, 3),
    ...(chart === undefined ? {} : { chart: { from: "path", path: chart } }),
  };
  if (pulumiPath() !== undefined)
    return byEngine({
      platform: place,
      deployments: chart === undefined ? { cluster: deployments["cluster"] } : deployments,
    });
  return byApplying(here, { platform: place, deployments: { cluster: deployments["cluster"] } });
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
  const {
    platform,
    deployments: { cluster },
  } = config;
  if (platform.type !== "kubernetes" || cluster?.mode !== "cluster")
    throw new Error("the stack kind has no cluster on Kubernetes");
  const { deployOnKubernetes } = await import("../../../stacks/program/platforms/kubernetes.js");
  const objects = await renderObjects(() => deployOnKubernetes("kind", platform, config));
  try {
    const began = performance.now();
    const since = (from: number): string => ((performance.now() - from) / 1000).toFixed(2);
    await here.apply(objects);
    const shape = { primaries: cluster.primaries, replicasPerPrimary: cluster.replicasPerPrimary };
    const plan = {
      name: "cluster",
      mode: cluster.mode,
      shape,
      namespace: here.namespace,
      pods: { statefulSet: "cluster" },
      zones: platform.zones,
      directives: new Map<string, string>(),
      access: { password: PASSWORD },
    };
    const deployment = await awaitKubernetesDeployment(await openThrowaway(), plan, { timeoutMs: 180_000 });
    const [pods, running] = [since(began), performance.now()];
    await form(deployment, shape);
    const [formation, formed] = [since(running), performance.now()];
    const { verdict } = await verifyUntilPass(deployment, { settlingMs: 30_000 });
    if (!verdict.pass) throw new Error("the cluster does not pass verification");
    return {
      seconds: (performance.now() - began) / 1000,
      unchanged: [],
      what:
        "the cluster's objects applied and checked (without the Pulumi CLI there is no chart): " +
        `pods ran after ${pods} s, formation ${formation} s, verification ${since(formed)} s`,
    };
  } finally {
    await here.close();
  }
}
