/** Invariants of every program of `tests/rendered/`: the order of steps, and platforms on EKS. Each is said once, for all programs. */
import { describe, it } from "vitest";
import { isOfAws, parameterProblems } from "../../support/aws/requests";
import { resourceKey } from "../../support/pulumi/declared-resources";
import { type Program, expectNone, OF_OTHER_CLUSTERS, programs, usePrograms } from "../../support/pulumi/invariants";
import type { DeclaredResource } from "../../support/pulumi/pulumi-mocks";

usePrograms();

describe("the order", () => {
  /** Steps of a deployment: each waits for those before it. */
  const STEPS: readonly RegExp[] = [
    /^valkey:index:Preparation$/,
    /^valkey:kubernetes:(Cluster|Replication|Engine)Servers$/,
    /^valkey:index:Rollout$/,
    /^valkey:index:Formation$/,
  ];

  it("of a deployment is: preparation, pods, roll-out, formation, verification, its helpers", () => {
    const deployments = programs.flatMap((program) =>
      program.resources
        .filter(({ type }) => /^valkey:index:Valkey(Cluster|Replication)$/.test(type))
        .map((component) => ({ component, ...program })),
    );
    expectNone(deployments, ({ component, resources, run }) => {
      const own = resources.filter(
        ({ parent, name }) => parent === resourceKey(component) && name.startsWith(component.name),
      );
      const steps = STEPS.map((step) => own.filter(({ type }) => step.test(type)));
      const verification = own.filter(({ type }) => type === "valkey:index:DeploymentVerification");
      const [checks, restores] = [":ArchiveCheck", ":Restore"].map((end) =>
        own.filter(({ type }) => type.endsWith(end)),
      );
      const helpers = own.filter(
        ({ type, name }) => /^kubernetes:(apps|batch)/.test(type) && /-(controller|archive|drill)$/.test(name),
      );
      const after = (late: readonly DeclaredResource[], early: readonly DeclaredResource[]): string[] =>
        late.flatMap((one) =>
          early
            .filter((other) => !run.isDeletedBefore(one, other))
            .map((other) => `${resourceKey(one)} before ${resourceKey(other)}`),
        );
      return [
        ...steps.slice(1).flatMap((step, index) => after(step, steps[index] ?? [])),
        ...after(steps[1] ?? [], checks ?? []),
        ...after(restores ?? [], steps.flat()),
        ...after(verification, [...steps.flat(), ...(restores ?? [])]),
        ...after(helpers, verification),
        ...(steps.some((step) => step.length === 0) ? [`${component.name}: a step is missing`] : []),
      ];
    });
  });

  it("never goes in circles", () => {
    expectNone(programs, ({ resources, run }) =>
      resources.filter((each) => run.isDeletedBefore(each, each)).map(resourceKey),
    );
  });

  it("of benchmarks is after the verification of their targets", () => {
    const measured = programs.flatMap(({ resources }) =>
      resources.filter(({ type }) => type === "valkey:index:Measurement").map((each) => ({ each, resources })),
    );
    expectNone(measured, ({ each, resources }) => {
      const targets = (each.inputs["targets"] as { target: { name: string; platform: string } }[]).filter(
        ({ target }) => target.platform !== "external",
      );
      return targets
        .filter(
          ({ target }) =>
            !each.dependsOn.some(
              (key) =>
                key.endsWith(` ${target.name}`) ||
                resources.some(({ name, parent }) => key === parent && name === target.name),
            ),
        )
        .map(({ target }) => `${each.name}: ${target.name}`);
    });
  });
});

describe("platforms on EKS", () => {
  const platforms = (): Program[] =>
    programs.filter(({ resources }) => resources.some(({ type }) => type === "eks:index:Cluster"));

  it("consist of requests that AWS' models accept", () => {
    expectNone(
      platforms().flatMap(({ resources }) => resources.filter(({ type }) => isOfAws(type) && type.startsWith("aws:"))),
      parameterProblems,
    );
  });

  it("have everything inside of the cluster made by its provider and removed before it", () => {
    expectNone(platforms(), ({ run, resources }) => {
      const cluster = run.one("eks:index:Cluster");
      const inside = resources.filter(
        ({ type, name }) => type.startsWith("kubernetes:") && !OF_OTHER_CLUSTERS.test(name),
      );
      return inside
        .filter(
          (each) =>
            !run.isDeletedBefore(each, cluster) ||
            run.providerOf(each) !== `pulumi:providers:kubernetes ${cluster.name}-provider`,
        )
        .map(resourceKey);
    });
  });

  it("have fixed names at AWS, short enough, that begin with the cluster's", () => {
    expectNone(platforms(), ({ run, resources }) => {
      const name = String(run.one("eks:index:Cluster").inputs["name"]);
      const fixed = resources
        .filter(({ type }) => /^aws:(iam\/(role|policy):|sqs\/queue:|cloudwatch\/eventRule:)/.test(type))
        .map(({ inputs }) => String(inputs["name"]));
      return fixed.filter((each) => !each.startsWith(name) || each.length > 64);
    });
  });

  it("give no pod the rights of a machine", () => {
    const templates = platforms().flatMap(({ resources }) =>
      resources.filter(({ type }) => /:(LaunchTemplate|EC2NodeClass)$/.test(type)),
    );
    expectNone(templates, (each) => {
      const { metadataOptions } = (each.inputs["spec"] ?? each.inputs) as {
        metadataOptions: { httpTokens: string; httpPutResponseHopLimit: number };
      };
      return metadataOptions.httpTokens === "required" && metadataOptions.httpPutResponseHopLimit === 1
        ? []
        : [resourceKey(each)];
    });
  });

  it("keep a machine's role until the machine is gone", () => {
    expectNone(platforms(), ({ run }) => {
      const nodes = run.one("aws:eks/nodeGroup:NodeGroup");
      const policies = run
        .ofType("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
        .filter(({ name }) => name.includes("-system-"));
      return policies.length === 0
        ? ["no policies"]
        : policies.filter((each) => !run.isDeletedBefore(nodes, each)).map(resourceKey);
    });
  });

  it("let viewers write nothing, read no secret and run nothing", () => {
    const roles = platforms().flatMap(({ resources }) =>
      resources.filter(({ type, name }) => type.endsWith("v1:ClusterRole") && name.includes("view")),
    );
    expectNone(roles, ({ inputs }) =>
      (inputs["rules"] as { apiGroups: string[]; resources: string[]; verbs: string[] }[]).flatMap((rule) => [
        // A star would include secrets, and a subresource such as nodes/proxy or pods/exec runs commands.
        ...[...rule.apiGroups, ...rule.resources].filter((each) => /secret|\*/.test(each) || each.includes("/")),
        ...rule.verbs.filter((verb) => !["get", "list", "watch"].includes(verb)),
      ]),
    );
  });
});
