/** Invariants of every program of `tests/rendered/`: secrets, guardrails, network policies. Each is said once, for all programs. */
import { describe, expect, it } from "vitest";
import { RULES } from "../../../policies/all-rules";
import type { Peer, Policy, PolicyRule } from "../../support/kubernetes/pod-specs";
import { resourceKey } from "../../support/pulumi/declared-resources";
import type { Pod, Program } from "../../support/pulumi/invariants";
import {
  allPods,
  containersOf,
  expectNone,
  isServer,
  matches,
  programs,
  resourcesOf,
  specOf,
  usePrograms,
} from "../../support/pulumi/invariants";
import type { DeclaredResource } from "../../support/pulumi/pulumi-mocks";
import { SECRETS } from "../../support/pulumi/rendered-programs";
import { plainResources } from "../../support/pulumi/rendered-yaml";

usePrograms();

describe("secrets", () => {
  it("stand in no input that is not a secret, nor in a name", () => {
    expectNone(programs, ({ name, resources }) => {
      const text = JSON.stringify([...plainResources(resources)]);
      return SECRETS.filter((secret) => text.includes(secret)).map((secret) => `${name}: ${secret}`);
    });
    const given = JSON.stringify(programs.map(({ resources }) => resources.map(({ inputs }) => inputs)));
    for (const secret of SECRETS) expect(given).toContain(secret);
  });

  it("are the whole data of each Secret, and each password that a handler gets", () => {
    expectNone(resourcesOf(/^kubernetes:core\/v1:Secret/), ({ name, inputs, secrets }) =>
      ["data", "stringData"]
        .filter((key) => {
          const names = Object.keys(inputs[key] ?? {});
          return names.some((each) => !secrets.includes(key) && !secrets.includes(`${key}.${each}`));
        })
        .map((key) => `${name}.${key}`),
    );
    expectNone(
      resourcesOf(/^valkey:index:/).filter(({ inputs }) => typeof inputs["password"] === "string"),
      (each) => (each.secrets.includes("password") ? [] : [resourceKey(each)]),
    );
  });

  it("reach a program by a file that only its user can read, never by a variable", () => {
    expectNone(allPods(), ({ of, spec }) =>
      spec.volumes
        .filter(
          ({ secret, projected }) =>
            secret?.items?.[0]?.key !== "ca.crt" &&
            (secret ?? projected) !== undefined &&
            (secret ?? projected)?.defaultMode !== 0o440,
        )
        .map(({ name }) => `${of}: ${name}`),
    );
    expectNone(allPods().flatMap(containersOf), ({ name, env = [] }) =>
      env
        .filter(({ valueFrom }) => valueFrom !== undefined && !("fieldRef" in valueFrom))
        .map((each) => `${name}: ${each.name}`),
    );
  });
});

describe("guardrails", () => {
  it.each(RULES.map((rule) => [rule.name, rule] as const))("%s", (_name, rule) => {
    expectNone(
      programs.flatMap(({ resources }) => resources),
      ({ type, name, inputs }) => rule.check({ type, name, props: inputs }).map((what) => `${type} ${name}: ${what}`),
    );
  });

  it("hold for pods that handlers start, too", () => {
    const pods = allPods().filter(({ resource }) => "pod" in resource.inputs);
    expectNone(pods, ({ of, spec, namespace }) =>
      RULES.flatMap((rule) =>
        rule.check({ type: "kubernetes:core/v1:Pod", name: of, props: { metadata: { namespace }, spec } }),
      ),
    );
  });
});

describe("network policies", () => {
  const policiesOf = ({ resources }: Program): DeclaredResource[] =>
    resources.filter(({ type }) => type.endsWith(":NetworkPolicy"));
  const withPolicies = (): Program[] => programs.filter((program) => policiesOf(program).length > 0);
  const selected = (peer: Peer, pod: Pod): boolean =>
    peer.podSelector !== undefined &&
    peer.namespaceSelector === undefined &&
    matches(peer.podSelector.matchLabels ?? {}, pod.labels);
  const policyOf = (program: Program, pod: Pod): Policy[] =>
    policiesOf(program)
      .map((each) => specOf<Policy>(each))
      .filter(({ podSelector }) => matches(podSelector.matchLabels, pod.labels));

  it("select each pod that serves or connects, once, and rule both ways", () => {
    expectNone(withPolicies(), (program) =>
      program.pods
        .filter(({ labels }) => Object.keys(labels).length > 0)
        .filter((pod) => {
          const [policy, ...more] = policyOf(program, pod);
          return policy === undefined || more.length > 0 || policy.policyTypes.join() !== "Ingress,Egress";
        })
        .map(({ of }) => of),
    );
  });

  it("let each pod ask DNS, and go without a named peer only to the API server and to buckets", () => {
    expectNone(
      withPolicies().flatMap((program) => policiesOf(program)),
      (policy) => {
        const open = specOf<Policy>(policy)
          .egress.filter(({ to }) => to === undefined)
          .map(({ ports = [] }) => ports.map(({ port }) => port).join());
        const others = open.filter((ports) => ports !== "53,53");
        const isAllowed = /-controller$/.test(policy.name)
          ? ["443,6443", "8443"]
          : /-(archive|restore|drill)$/.test(policy.name)
            ? ["443", "4568"]
            : [];
        return open.includes("53,53") && others.every((ports) => isAllowed.includes(ports))
          ? []
          : [`${policy.name}: ${open.join(" ")}`];
      },
    );
  });

  it("let everyone in only where clients are outside", () => {
    expectNone(withPolicies(), (program) =>
      policiesOf(program).flatMap((policy) =>
        specOf<Policy>(policy).ingress.some(({ from }) => from === undefined) &&
        !program.resources.some(
          ({ type, inputs }) =>
            type === "valkey:index:Rollout" &&
            inputs["external"] !== undefined &&
            policy.name.startsWith((inputs["target"] as { name: string }).name),
        )
          ? [policy.name]
          : [],
      ),
    );
  });

  it("agree: what one pod may reach lets it in, at the same port", () => {
    const allowed = (rules: readonly PolicyRule[], side: "from" | "to", other: Pod, port: number): boolean =>
      rules.some(
        ({ [side]: peers, ports = [] }) =>
          (peers === undefined || peers.some((peer) => selected(peer, other))) &&
          ports.some((each) => each.port === port),
      );
    let agreements = 0;
    expectNone(withPolicies(), (program) =>
      program.pods.flatMap((pod) =>
        program.pods.flatMap((other) => {
          const [own, others] = [policyOf(program, pod)[0], policyOf(program, other)[0]];
          if (own === undefined || others === undefined) return [];
          return own.egress
            .flatMap(({ to = [], ports = [] }) => (to.some((peer) => selected(peer, other)) ? ports : []))
            .flatMap(({ port }) => {
              const listens = other.spec.containers.some(({ ports: open = [] }) =>
                open.some(({ containerPort }) => containerPort === port),
              );
              if (!listens) return [];
              agreements++;
              return allowed(others.ingress, "from", pod, port)
                ? []
                : [`${program.name}: ${pod.of} to ${other.of}: ${port}`];
            });
        }),
      ),
    );
    expect(agreements).toBeGreaterThan(10);
  });

  it("let a pod reach the servers wherever the servers name it as a peer", () => {
    expectNone(withPolicies(), (program) =>
      program.pods
        .filter((pod) => pod.isServing && isServer(pod))
        .flatMap((server) => {
          const [policy] = policyOf(program, server);
          const peers = (policy?.ingress ?? [])
            .filter(({ ports = [] }) => ports[0]?.port === 6379)
            .flatMap(({ from = [] }) => from)
            .filter(({ podSelector }) =>
              Object.keys(podSelector?.matchLabels ?? {}).some((key) => key.startsWith("app.kubernetes.io/")),
            );
          return peers
            .filter(
              (peer) =>
                !program.pods.some(
                  (pod) =>
                    selected(peer, pod) &&
                    policyOf(program, pod)[0]?.egress.some(
                      ({ to = [], ports = [] }) =>
                        to.some((each) => selected(each, server)) && ports.some(({ port }) => port === 6379),
                    ) === true,
                ),
            )
            .map((peer) => `${server.of}: ${JSON.stringify(peer)}`);
        }),
    );
  });
});
