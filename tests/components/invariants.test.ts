/** Invariants of every program of `tests/rendered/`, whatever it declares: each is said once, for all programs. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Resources } from "../../components/kubernetes/arguments";
import { isGuaranteed } from "../../components/kubernetes/pods/sidecar-resources";
import { RULES } from "../../policies/all-rules";
import { isOfAws, parameterProblems } from "../support/aws/requests";
import type { DeclaredResource, ProgramRun } from "../support/pulumi/pulumi-mocks";
import { resourceKey } from "../support/pulumi/declared-resources";
import { PROGRAMS, renderedRun, SECRETS } from "../support/pulumi/rendered-programs";
import { plainResources } from "../support/pulumi/rendered-yaml";
import type { Container, Peer, PodSpec, Policy, PolicyRule } from "../support/kubernetes/pod-specs";

interface Pod {
  /** `TYPE NAME` of the resource that makes it. */
  readonly of: string;
  readonly resource: DeclaredResource;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
  /** Whether it runs until it is told to stop. */
  readonly isServing: boolean;
  readonly selector: Readonly<Record<string, string>> | undefined;
}
interface Program {
  readonly name: string;
  readonly run: ProgramRun;
  readonly resources: readonly DeclaredResource[];
  readonly pods: readonly Pod[];
}
const programs: Program[] = [];
/** Objects of clusters that exist, which two components of one program declare for the same pools. */
const OF_OTHER_CLUSTERS = /^(mine|named)-/;
beforeAll(async () => {
  for (const name of Object.keys(PROGRAMS)) {
    const run = await renderedRun(name);
    programs.push({ name, run, resources: run.resources, pods: run.resources.flatMap(podsOf) });
  }
}, 300_000);

type Template = { readonly metadata: { readonly labels: Record<string, string> }; readonly spec: PodSpec };
type Metadata = {
  readonly name: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
};
const metadataOf = ({ inputs }: DeclaredResource): Metadata => inputs["metadata"] as Metadata;
/** Specification of an object, as the caller knows it. */
const specOf = <T>({ inputs }: DeclaredResource & { readonly specification?: T }): T => inputs["spec"] as T;

function podsOf(resource: DeclaredResource): Pod[] {
  return madePods(resource).map((pod) => ({
    ...pod,
    spec: { ...pod.spec, volumes: (pod.spec as Partial<PodSpec>).volumes ?? [] },
  }));
}

function madePods(resource: DeclaredResource): Pod[] {
  const { type, inputs } = resource;
  const of = resourceKey(resource);
  if (/:(StatefulSet|Deployment)$/.test(type)) {
    const { template, selector } = specOf<{ template: Template; selector: { matchLabels: Record<string, string> } }>(
      resource,
    );
    const { labels } = template.metadata;
    const { namespace } = metadataOf(resource);
    return [{ of, resource, namespace, labels, spec: template.spec, isServing: true, selector: selector.matchLabels }];
  }
  if (type.endsWith(":CronJob")) {
    const { template } = specOf<{ jobTemplate: { spec: { template: Template } } }>(resource).jobTemplate.spec;
    const { namespace } = metadataOf(resource);
    return [
      {
        of,
        resource,
        namespace,
        labels: template.metadata.labels,
        spec: template.spec,
        isServing: false,
        selector: undefined,
      },
    ];
  }
  if (!("pod" in inputs)) return [];
  const {
    pod: spec,
    labels = {},
    target,
  } = inputs as { pod: PodSpec; labels?: Record<string, string>; target: { namespace: string } };
  return [{ of, resource, namespace: target.namespace, labels, spec, isServing: false, selector: undefined }];
}

const allPods = (): Pod[] => programs.flatMap(({ pods }) => pods);
const resourcesOf = (pattern: RegExp): DeclaredResource[] =>
  programs.flatMap(({ resources }) => resources.filter(({ type }) => pattern.test(type)));
const containersOf = ({ spec }: Pod): readonly Container[] => [...spec.containers, ...(spec.initContainers ?? [])];
const matches = (selector: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(selector).every(([key, value]) => labels[key] === value);
const isServer = ({ labels }: Pod): boolean => labels["app.kubernetes.io/name"] === "valkey";

/** Everything that violates something, which is to be nothing; and that there was something to look at. */
function expectNone<T>(all: readonly T[], violations: (each: T) => readonly unknown[]): void {
  expect(all.length).toBeGreaterThan(0);
  expect(all.flatMap(violations)).toEqual([]);
}

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

describe("pods", () => {
  it("have read-only root file systems, limits of memory, and images with a tag that stays", () => {
    expectNone(allPods(), (pod) =>
      containersOf(pod).flatMap(({ name, image, imagePullPolicy, securityContext, resources }) => [
        ...(securityContext.readOnlyRootFilesystem === true ? [] : [`${pod.of} ${name}: writes to its root`]),
        ...(resources?.limits?.memory !== undefined && resources.requests?.cpu !== undefined
          ? []
          : [`${pod.of} ${name}: no limits`]),
        ...(/:[\w.-]+(@|$)/.test(image) && !image.endsWith(":latest") ? [] : [`${pod.of} ${name}: ${image}`]),
        ...(["Always", "IfNotPresent"].includes(imagePullPolicy) ? [] : [`${pod.of} ${name}: ${imagePullPolicy}`]),
      ]),
    );
  });

  it("have a token of Kubernetes only if they are controllers", () => {
    const withToken = allPods().filter(({ spec }) => spec.automountServiceAccountToken !== false);
    expect(withToken.length).toBeGreaterThan(1);
    for (const { labels } of withToken) expect(labels["app.kubernetes.io/name"]).toBe("valkey-controller");
    expectNone(resourcesOf(/:ServiceAccount$/), ({ name, inputs }) =>
      inputs["automountServiceAccountToken"] === false ? [] : [name],
    );
  });

  it("run as an account that the program declares", () => {
    expectNone(
      programs.filter(({ pods }) => pods.length > 0),
      ({ resources, pods }) => {
        const accounts = resources
          .filter(({ type }) => type.endsWith(":ServiceAccount"))
          .map((each) => metadataOf(each).name);
        return pods
          .filter(({ spec }) => spec.serviceAccountName !== undefined && !accounts.includes(spec.serviceAccountName))
          .map(({ of }) => of);
      },
    );
  });

  it("mount every volume that they have, and only those", () => {
    expectNone(allPods(), (pod) => {
      const { resource, of, spec } = pod;
      const { volumeClaimTemplates = [] } = (resource.inputs["spec"] ?? {}) as {
        volumeClaimTemplates?: { metadata: { name: string } }[];
      };
      const mounted = new Set(
        containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)),
      );
      const there = [
        ...spec.volumes.map(({ name }) => name),
        ...volumeClaimTemplates.map(({ metadata }) => metadata.name),
      ];
      return [...mounted].sort().join() === [...there].sort().join()
        ? []
        : [`${of}: has ${there.join()}; mounts ${[...mounted].join()}`];
    });
  });

  it("mount all but data, scratch and spools read-only", () => {
    expectNone(allPods(), (pod) =>
      containersOf(pod).flatMap(({ name, volumeMounts = [] }) =>
        volumeMounts
          .filter((mount) => mount.readOnly !== true && !/^(data|scratch|spool|staging|tmp)$/.test(mount.name))
          .map((mount) => `${pod.of} ${name}: ${mount.name}`),
      ),
    );
  });

  it("wait for the files that they mount, which the program declares or which may be missing", () => {
    const OTHERS = /^(certificate|minio|orders-tls|sessions-tls)$|-overlap$/;
    expectNone(
      programs.filter(({ pods }) => pods.length > 0),
      ({ resources, pods, run }) =>
        pods.flatMap(({ of, resource, spec, namespace }) =>
          spec.volumes
            .flatMap(({ configMap, secret, projected }) => [
              { kind: "ConfigMap", file: configMap },
              { kind: "Secret", file: secret && { name: secret.secretName, optional: false } },
              ...(projected?.sources ?? []).map((source) => ({ kind: "Secret", file: source.secret })),
            ])
            .flatMap(({ kind, file }) => {
              if (file === undefined || file.optional === true || OTHERS.test(file.name)) return [];
              const found = resources.filter(
                (each) =>
                  new RegExp(`:${kind}(Patch)?$`).test(each.type) &&
                  each.inputs["metadata"] !== undefined &&
                  metadataOf(each).name === file.name &&
                  metadataOf(each).namespace === namespace,
              );
              return found.length > 0 && found.every((each) => run.isDeletedBefore(resource, each))
                ? []
                : [`${of}: ${file.name}`];
            }),
        ),
    );
  });

  it("have variables that refer to earlier ones only, as Kubernetes wants it", () => {
    expectNone(allPods().flatMap(containersOf), ({ name, env = [], command = [], args = [] }) => {
      const names = env.map((each) => each.name);
      const missing = (text: string, known: readonly string[]): string[] =>
        [...text.matchAll(/\$\((\w+)\)/g)].flatMap(([, reference = ""]) =>
          known.includes(reference) ? [] : [`${name}: ${reference}`],
        );
      return [
        ...env.flatMap(({ value = "" }, index) => missing(value, names.slice(0, index))),
        ...[...command, ...args].flatMap((word) => missing(word, names)),
      ];
    });
  });

  it("find every host that their variables and commands name as a Service of the program", () => {
    expectNone(
      programs.filter(({ pods }) => pods.length > 0),
      ({ resources, pods }) => {
        const services = resources
          .filter(({ type }) => type.endsWith("core/v1:Service"))
          .map((each) => metadataOf(each).name);
        return pods.flatMap(({ of, spec }) =>
          [...JSON.stringify(spec).matchAll(/([a-z0-9-]+)\.\$\(POD_NAMESPACE\)\.svc\./g)].flatMap(([, service = ""]) =>
            services.includes(service) ? [] : [`${of}: ${service}`],
          ),
        );
      },
    );
  });

  it("have every script that they run, and every one that those read", () => {
    const withScripts = programs.flatMap((program) =>
      program.pods.flatMap((pod) =>
        pod.spec.volumes.filter(({ name }) => name === "scripts").map(({ configMap }) => ({ pod, program, configMap })),
      ),
    );
    expectNone(withScripts, ({ pod, program, configMap }) => {
      const patch = program.resources.find(
        (each) => each.type.endsWith(":ConfigMapPatch") && metadataOf(each).name === configMap?.name,
      );
      const files = (patch?.inputs["data"] ?? {}) as Record<string, string>;
      const runs = [...JSON.stringify(pod.spec).matchAll(/\/valkey\/scripts\/([\w-]+\.sh)/g)].map(
        ([, file = ""]) => file,
      );
      const needed = new Set(runs);
      for (const file of needed)
        for (const [, read = ""] of (files[file] ?? "").matchAll(/^\. "\$\{0%\/\*\}\/([\w-]+\.sh)"/gm))
          needed.add(read);
      return runs.length === 0
        ? []
        : [...needed].filter((file) => !(file in files)).map((file) => `${pod.of}: ${file}`);
    });
  });

  it("that serve are asked whether they live and whether they are ready, the servers by a client without a password", () => {
    const serving = allPods().filter(({ isServing }) => isServing);
    expectNone(serving, ({ of, spec }) =>
      spec.containers
        .filter(({ livenessProbe, readinessProbe }) => livenessProbe === undefined || readinessProbe === undefined)
        .map(({ name }) => `${of} ${name}`),
    );
    expectNone(
      serving.filter(isServer),
      ({
        of,
        spec: {
          containers: [server],
        },
      }) =>
        server?.livenessProbe?.exec?.command.at(-1) === "PING" || server?.livenessProbe?.tcpSocket !== undefined
          ? []
          : [of],
    );
  });

  it("that ask others before they start have the time by their startup probe, and their stop ends in time", () => {
    const asking = allPods().filter(({ spec }) =>
      /start-(cluster|replication)\.sh/.test(String(spec.containers[0]?.command?.[1])),
    );
    expectNone(asking, ({ of, spec }) => {
      const [server] = spec.containers;
      const [, , seconds, patience] = server?.command ?? [];
      const { periodSeconds = 0, failureThreshold = 0 } = server?.startupProbe ?? {};
      const handOver = Number(server?.lifecycle?.preStop.exec.command[2] ?? 0);
      return Number(patience) > Number(seconds) &&
        periodSeconds * failureThreshold > Number(patience) &&
        spec.terminationGracePeriodSeconds > handOver + 60
        ? []
        : [of];
    });
  });

  it("are of the class Guaranteed with every container where the first is: only such pods are given whole CPUs", () => {
    const guaranteed = allPods().filter(
      ({ spec }) => spec.containers[0] !== undefined && isGuaranteed(spec.containers[0].resources as Resources),
    );
    expect(guaranteed.some(isServer)).toBe(true);
    expectNone(guaranteed.filter(isServer), (pod) =>
      containersOf(pod)
        .filter(({ resources }) => !isGuaranteed(resources as Resources))
        .map(({ name }) => `${pod.of} ${name}`),
    );
  });

  it("have the pull secrets of their deployment, each of them", () => {
    const secretive = programs.filter(({ pods }) => pods.some(({ spec }) => spec.imagePullSecrets !== undefined));
    expectNone(secretive, ({ pods }) =>
      pods.filter(({ spec }) => JSON.stringify(spec.imagePullSecrets) !== '[{"name":"registry"}]').map(({ of }) => of),
    );
  });
});

describe("spread", () => {
  it("is over all zones of the deployment, hard, of the pod's own kind", () => {
    const spread = allPods().filter(
      ({ isServing, resource }) => isServing && specOf<{ replicas: number }>(resource).replicas > 1,
    );
    expectNone(spread, ({ of, labels, spec }) => {
      const { topologySpreadConstraints = [], affinity } = spec;
      const [term] = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms ?? [];
      const zones = term?.matchExpressions.find(({ key }) => key === "topology.kubernetes.io/zone")?.values;
      const [one] = topologySpreadConstraints;
      const isSound =
        topologySpreadConstraints.length === 1 &&
        one?.topologyKey === "topology.kubernetes.io/zone" &&
        one.whenUnsatisfiable === "DoNotSchedule" &&
        one.maxSkew === 1 &&
        one.minDomains === zones?.length;
      const others = allPods().filter(
        (pod) => pod.isServing && pod.of !== of && matches(one?.labelSelector.matchLabels ?? {}, pod.labels),
      );
      return isSound &&
        matches(one.labelSelector.matchLabels, labels) &&
        others.every((pod) => pod.labels["app.kubernetes.io/name"] === labels["app.kubernetes.io/name"])
        ? []
        : [of];
    });
  });

  it("is over machines for servers, as a wish unless it is required", () => {
    expectNone(
      allPods().filter((pod) => pod.isServing && isServer(pod) && pod.spec.affinity?.podAntiAffinity !== undefined),
      ({ of, labels, spec }) => {
        const {
          requiredDuringSchedulingIgnoredDuringExecution: hard,
          preferredDuringSchedulingIgnoredDuringExecution: soft,
        } = spec.affinity?.podAntiAffinity ?? {};
        const term = hard?.[0] ?? soft?.[0]?.podAffinityTerm;
        return term?.topologyKey === "kubernetes.io/hostname" && matches(term.labelSelector.matchLabels, labels)
          ? []
          : [of];
      },
    );
  });
});

describe("selectors", () => {
  it("of workloads select their own pods and no others", () => {
    expectNone(
      programs.filter(({ pods }) => pods.length > 0),
      ({ pods }) =>
        pods.flatMap(({ of, selector, namespace }) =>
          selector === undefined
            ? []
            : [...pods]
                .filter(
                  (pod) =>
                    pod.namespace === namespace && pod.isServing && matches(selector, pod.labels) !== (pod.of === of),
                )
                .map((pod) => `${of}: ${pod.of}`),
        ),
    );
  });

  it("of Services lead to a port of a pod that is there", () => {
    expectNone(
      programs.filter(({ pods }) => pods.length > 0),
      ({ resources, pods }) =>
        resources
          .filter(({ type }) => type.endsWith("core/v1:Service"))
          .flatMap((service) => {
            const { selector, ports } = specOf<{
              selector: Record<string, string>;
              ports: { targetPort: string | number }[];
            }>(service);
            const { "statefulset.kubernetes.io/pod-name": pod, ...labels } = selector;
            const selected = pods.filter(
              (each) =>
                each.isServing &&
                matches(labels, each.labels) &&
                (pod ?? each.resource.name).startsWith(each.resource.name),
            );
            const open = new Set(
              selected.flatMap(({ spec }) =>
                spec.containers.flatMap(({ ports: own = [] }) =>
                  own.flatMap(({ name, containerPort }) => [name, containerPort]),
                ),
              ),
            );
            return ports
              .filter(({ targetPort }) => !open.has(targetPort))
              .map(({ targetPort }) => `${service.name}: ${targetPort}`);
          }),
    );
  });

  it("of Services for clients leave out pods that are not ready; those by which nodes find each other do not", () => {
    expectNone(resourcesOf(/^kubernetes:core\/v1:Service$/), (service) => {
      const { clusterIP, publishNotReadyAddresses = false } = specOf<{
        clusterIP?: string;
        publishNotReadyAddresses?: boolean;
      }>(service);
      return publishNotReadyAddresses === (clusterIP === "None" || /-\d+-external$/.test(service.name))
        ? []
        : [service.name];
    });
  });

  it("of disruption budgets let one server, Sentinel or proxy go at a time", () => {
    expectNone(
      programs.filter(({ pods }) => pods.length > 0),
      ({ resources, pods }) => {
        const budgets = resources.filter(({ type }) => type.endsWith(":PodDisruptionBudget"));
        return pods
          .filter(({ isServing, resource }) => isServing && specOf<{ replicas: number }>(resource).replicas > 1)
          .flatMap(({ of, labels }) => {
            const own = budgets.filter((budget) =>
              matches(
                specOf<{ selector: { matchLabels: Record<string, string> } }>(budget).selector.matchLabels,
                labels,
              ),
            );
            return own.length === 1 &&
              own[0] !== undefined &&
              specOf<{ maxUnavailable: number }>(own[0]).maxUnavailable === 1
              ? []
              : [of];
          });
      },
    );
  });

  it("of ServiceMonitors select the labels of their Service", () => {
    expectNone(
      programs.flatMap(({ resources }) =>
        resources.filter(({ type }) => type.endsWith(":ServiceMonitor")).map((monitor) => ({ monitor, resources })),
      ),
      ({ monitor, resources }) => {
        const { selector } = specOf<{ selector: { matchLabels: Record<string, string> } }>(monitor);
        const selected = resources.filter(
          (each) =>
            each.type.endsWith("core/v1:Service") && matches(selector.matchLabels, metadataOf(each).labels ?? {}),
        );
        return selected.map(({ name }) => name).join() === monitor.name
          ? []
          : [`${monitor.name}: ${selected.map(({ name }) => name).join()}`];
      },
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
            type === "valkey:index:ExternalAddresses" &&
            inputs["external"] !== null &&
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

describe("objects", () => {
  it("of a deployment are children of a component, in its namespace, with its labels", () => {
    const own = resourcesOf(/^kubernetes:/).filter(({ parent }) =>
      /^valkey:(kubernetes:|index:(Valkey(Cluster|Replication)|EngineDeployment) )/.test(parent ?? ""),
    );
    expectNone(
      own.filter(({ type, inputs }) => !/ClusterRole/.test(type) && inputs["metadata"] !== undefined),
      (each) => {
        const { namespace, labels, name } = metadataOf(each);
        const isLabelled =
          labels?.["app.kubernetes.io/managed-by"] === "pulumi" &&
          name.startsWith(String(labels["app.kubernetes.io/instance"]));
        return namespace !== "" && (isLabelled || /Secret$/.test(each.type)) ? [] : [resourceKey(each)];
      },
    );
  });

  it("have names of at most 63 characters, each once in its namespace", () => {
    expectNone(programs, ({ resources }) => {
      const named = resources.filter(
        ({ type, name, inputs, options }) =>
          type.startsWith("kubernetes:") &&
          inputs["metadata"] !== undefined &&
          !OF_OTHER_CLUSTERS.test(name) &&
          !("id" in options),
      );
      const keys = named.map((each) => `${each.type} ${metadataOf(each).namespace} ${metadataOf(each).name}`);
      return [
        ...keys.filter((key, index) => keys.indexOf(key) !== index),
        ...named.map((each) => metadataOf(each).name).filter((name) => name.length > 63),
      ];
    });
  });

  it("with files are made empty and patched: new data replaces no object", () => {
    expectNone(programs, ({ resources }) =>
      resources
        .filter(({ type }) => /:(ConfigMap|Secret)Patch$/.test(type))
        .flatMap((patch) => {
          const type = patch.type.replace(/Patch$/, "");
          const object = resources.find((each) => each.type === type && each.name === patch.name);
          const isSound =
            object?.inputs["data"] === undefined &&
            object?.inputs["stringData"] === undefined &&
            metadataOf(patch).annotations?.["pulumi.com/patchForce"] === "true";
          return object !== undefined && isSound && patch.dependsOn.includes(resourceKey(object))
            ? []
            : [resourceKey(patch)];
        }),
    );
  });

  it("that `Rollout` waits for are not waited for by the engine", () => {
    expectNone(resourcesOf(/^kubernetes:apps\/v1:StatefulSet$/), (each) =>
      metadataOf(each).annotations?.["pulumi.com/waitFor"] === "jsonpath={.metadata.uid}" ? [] : [resourceKey(each)],
    );
  });

  it("keep what the roll-out, the shards and the kubelet change while they run", () => {
    const ignored = new Map<string, Set<string>>();
    for (const { type, options } of resourcesOf(/^kubernetes:/))
      if (options.ignoreChanges !== undefined)
        ignored.set(type, (ignored.get(type) ?? new Set()).add(options.ignoreChanges.join()));
    expect(Object.fromEntries([...ignored].map(([type, fields]) => [type, [...fields]]))).toEqual({
      "kubernetes:apps/v1:StatefulSet": ["spec.volumeClaimTemplates"],
      "kubernetes:core/v1:ConfigMap": ["data"],
      "kubernetes:core/v1:Service": ["spec.selector"],
      "kubernetes:policy/v1:PodDisruptionBudget": ["spec"],
    });
    // Every Service that leads to the primary of replication is led by the roll-out.
    expectNone(
      programs.flatMap(({ resources }) =>
        resources.flatMap(({ inputs }) => {
          const { lead } = (inputs["target"] ?? {}) as { lead?: { services: string[] } };
          return (lead?.services ?? []).map((service) =>
            resources.find(({ type, name }) => type.endsWith("core/v1:Service") && name === service),
          );
        }),
      ),
      (service) => (service?.options.ignoreChanges?.join() === "spec.selector" ? [] : [service?.name ?? "no Service"]),
    );
  });

  it("stay after the stack only if they are a bucket with its settings or the log group of the control plane", () => {
    const kept = programs
      .flatMap(({ resources }) => resources)
      .filter(({ options }) => options.retainOnDelete === true)
      .map(({ type }) => type);
    expect(kept.length).toBeGreaterThan(2);
    for (const type of kept) expect(type).toMatch(/^aws:(s3\/bucket|cloudwatch\/logGroup)/);
  });

  it("keep the volumes of a deployment as its argument says", () => {
    const sets = programs.flatMap(({ resources }) =>
      resources
        .filter(({ type }) => type === "valkey:index:Volumes")
        .map((volumes) => ({
          volumes,
          set: resources.find(({ type, name }) => type.endsWith(":StatefulSet") && name === volumes.name),
        })),
    );
    expectNone(sets, ({ volumes, set }) => {
      const { onDestroy } = (volumes.inputs as { storage: { onDestroy: string } }).storage;
      const { whenDeleted } =
        set === undefined
          ? { whenDeleted: "" }
          : specOf<{ persistentVolumeClaimRetentionPolicy: { whenDeleted: string } }>(set)
              .persistentVolumeClaimRetentionPolicy;
      return whenDeleted === (onDestroy === "keep" ? "Retain" : "Delete") ? [] : [volumes.name];
    });
  });
});

describe("certificates", () => {
  it("of cert-manager are valid for every host that is checked, and for reads", () => {
    const asked = programs.flatMap(({ resources }) =>
      resources
        .filter(({ type }) => type.endsWith(":Certificate"))
        .map((certificate) => ({
          certificate,
          check: resources.find(
            ({ type, dependsOn }) => type.endsWith(":TlsCheck") && dependsOn.includes(resourceKey(certificate)),
          ),
        })),
    );
    expectNone(asked, ({ certificate, check }) => {
      const { dnsNames } = specOf<{ dnsNames: string[] }>(certificate);
      const { hosts } = (check?.inputs["tls"] ?? { hosts: ["nobody checks it"] }) as { hosts: string[] };
      const [client = ""] = hosts;
      return [...hosts, client.replace(/^[^.]+/, (name) => `${name}-read`)].filter(
        (host) => !dnsNames.includes(host) && !dnsNames.includes(host.replace(/^[^.]+/, "*")),
      );
    });
  });
});

describe("the order", () => {
  /** Steps of a deployment: each waits for those before it. */
  const STEPS: readonly RegExp[] = [
    /^valkey:index:(ImageCheck|TlsCheck|ArchiveCheck)$/,
    /^valkey:index:(ScaleIn|Settings)$/,
    /^valkey:index:Volumes$/,
    /^valkey:kubernetes:(Cluster|Replication|Engine)Servers$/,
    /^valkey:index:Rollout$/,
    /^valkey:index:(Maxmemory|PasswordRetirement)$/,
  ];

  it("of a deployment is: checks, running servers, volumes, pods, roll-out, memory and passwords, verification, its helpers", () => {
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
      const others = own.filter(
        ({ type, name }) => /:(Formation|ExternalAddresses)$/.test(type) || (type.endsWith(":Restore") && name !== ""),
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
        ...after(others, steps[4] ?? []),
        ...after(verification, steps.flat()),
        ...after(
          own.filter(({ type }) => type.endsWith(":Restore")),
          steps[4] ?? [],
        ),
        ...after(helpers, verification),
        ...(steps
          .slice(0, 1)
          .concat(steps.slice(1))
          .some((step) => step.length === 0)
          ? [`${component.name}: a step is missing`]
          : []),
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
