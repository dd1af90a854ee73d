import * as pulumi from "@pulumi/pulumi";
import type { RunnerPlan } from "../../benchmarks/load/jobs/job-plan";
import type { CapacitySearch } from "../../benchmarks/capacity/measure-capacity";
import type { MeasuredResults } from "../../benchmarks/results/comparison";
import type { MixedWorkload } from "../../benchmarks/workloads/mixed-workload";
import type { Workload } from "../../benchmarks/workloads/workload";
import type { ExternalServers } from "../../platforms/external-servers";
import { type DeploymentNode, formatEndpoint } from "../../valkey/node";
import type { MeasuredTarget } from "../../operations/handlers/load-generator";
import { Measurement } from "../../operations/provider/resources";
import type { ExternalNode, ExternalTarget, LoadGeneratorArgs, MeasurementTarget, MeasuringArgs } from "./arguments";

const DEFAULT_PORT = 6379;

/** Loads that are sent to the targets. */
export interface PlannedLoads {
  readonly workload: Workload;
  readonly mixes: readonly MixedWorkload[];
  readonly capacity: CapacitySearch | undefined;
  readonly adjustLoad: boolean;
  readonly repeats: number;
}

export abstract class MeasuringComponent extends pulumi.ComponentResource {
  /** Content of results.json, without latency distributions. */
  readonly results: pulumi.Output<MeasuredResults>;
  /** Text of summary.txt. */
  readonly summary: pulumi.Output<string>;
  /**
   * Path of report.html. The path is relative to the program's current directory if the file is inside that directory.
   * If the file is elsewhere, the path is absolute.
   */
  readonly report: pulumi.Output<string>;
  protected readonly measurement: InstanceType<typeof Measurement>;

  constructor(
    type: string,
    name: string,
    args: MeasuringArgs,
    loads: PlannedLoads,
    options: pulumi.ComponentResourceOptions | undefined,
  ) {
    super(type, name, {}, options);
    const { targets = [], externalTargets = [], loadGenerators = {}, output, trigger = 0, timeoutSeconds = 600 } = args;
    const { workload, mixes, capacity, adjustLoad, repeats } = loads;
    const plain = withoutUndefined({ workload, mixes, capacity });
    this.measurement = new Measurement(
      name,
      {
        ...plain,
        adjustLoad,
        repeats,
        targets: pulumi.all([...targets.map(deploymentTarget), ...externalTargets.map(externalTarget)]),
        clients: runnerPlan(loadGenerators),
        stack: pulumi.getStack(),
        directory: process.cwd(),
        output,
        configuration: args.configuration === undefined ? plain : withoutUndefined(args.configuration),
        trigger,
        timeoutSeconds,
      },
      measuredAfter(this, targets, options),
    );
    this.results = this.measurement.results;
    this.summary = this.measurement.summary;
    this.report = this.measurement.report;
  }
}

/** A measurement starts when all targets that are components are verified. */
function measuredAfter(
  parent: pulumi.Resource,
  targets: readonly MeasurementTarget[],
  { dependsOn }: pulumi.ResourceOptions = {},
): pulumi.CustomResourceOptions {
  const own = { parent, dependsOn: targets.filter((each) => pulumi.Resource.isInstance(each)) };
  return dependsOn === undefined ? own : pulumi.mergeOptions(own, { dependsOn });
}

function deploymentTarget({ reference, password, formationMs }: MeasurementTarget): pulumi.Output<MeasuredTarget> {
  return pulumi
    .all([reference, password, formationMs ?? null])
    .apply(([target, secret, milliseconds]) => ({ target, password: secret, formationMs: milliseconds }));
}

function externalTarget(target: ExternalTarget): pulumi.Output<MeasuredTarget> {
  const { name, mode, nodes, primaries = mode === "replication" ? 1 : undefined, replicasPerPrimary } = target;
  const { username, password, tls, skippedAssertions = [], overwriteKeys = false } = target;
  return pulumi
    .all([
      pulumi.all(nodes.map(externalNode)),
      username,
      password === undefined ? undefined : pulumi.secret(password),
      pulumi.output(tls),
    ])
    .apply(([known, user, secret, encryption]) => ({
      target: withoutUndefined<ExternalServers>({
        platform: "external",
        name,
        mode,
        shape: {
          ...(primaries === undefined ? {} : { primaries }),
          ...(replicasPerPrimary === undefined ? {} : { replicasPerPrimary }),
        },
        nodes: known,
        username: user,
        tls: encryption,
        skippedAssertions,
        overwriteKeys,
      }),
      ...(secret === undefined ? {} : { password: secret }),
      formationMs: null,
    }));
}

function externalNode({ host, port = DEFAULT_PORT, zone }: ExternalNode): pulumi.Output<DeploymentNode> {
  return pulumi.all([host, port, zone]).apply(([at, number, where]) => {
    const endpoint = { host: at, port: number };
    return { name: formatEndpoint(endpoint), zone: where, machine: at, endpoint };
  });
}

function runnerPlan({ namespace, ...plain }: LoadGeneratorArgs): pulumi.Output<RunnerPlan> {
  return pulumi
    .output(namespace)
    .apply((where) => withoutUndefined({ runners: 1, sharing: false, ...plain, namespace: where }));
}

/** A copy without undefined values, because Pulumi's state cannot contain them. */
function withoutUndefined<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
