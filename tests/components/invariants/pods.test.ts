/** Invariants of every program of `tests/rendered/`: pods and their spread over zones and machines. Each is said once, for all programs. */
import { describe, expect, it } from "vitest";
import type { Resources } from "../../../components/kubernetes/arguments";
import { isGuaranteed } from "../../../components/kubernetes/pods/sidecar-resources";
import {
  allPods,
  containersOf,
  expectNone,
  isServer,
  matches,
  metadataOf,
  type Program,
  programs,
  resourcesOf,
  specOf,
  usePrograms,
  withPods,
} from "../../support/pulumi/invariants";

usePrograms();

/** Files of a ConfigMap, by name. */
function filesNamed({ resources }: Pick<Program, "resources">, name: string | undefined): Record<string, string> {
  const patch = resources.find((each) => each.type.endsWith(":ConfigMapPatch") && metadataOf(each).name === name);
  return (patch?.inputs["data"] ?? {}) as Record<string, string>;
}

/** Scripts with those that they read or start. */
function reached(scripts: readonly string[], files: Readonly<Record<string, string>>): ReadonlySet<string> {
  const found = new Set(scripts);
  for (const file of found)
    for (const [, other, keptMode, becomesMode] of (files[file] ?? "").matchAll(
      /^ *(?:(?:\.|sh) "\$\{0%\/\*\}\/([\w-]+\.sh)"(?: (\w+))?|become (\w+))/gm,
    )) {
      if (other !== undefined) found.add(other);
      const mode = keptMode ?? becomesMode;
      if (mode !== undefined) found.add(`keep-${mode}.sh`);
    }
  return found;
}

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
    expectNone(withPods(), ({ resources, pods }) => {
      const accounts = resources
        .filter(({ type }) => type.endsWith(":ServiceAccount"))
        .map((each) => metadataOf(each).name);
      return pods
        .filter(({ spec }) => spec.serviceAccountName !== undefined && !accounts.includes(spec.serviceAccountName))
        .map(({ of }) => of);
    });
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
    expectNone(withPods(), ({ resources, pods, run }) =>
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
    expectNone(withPods(), ({ resources, pods }) => {
      const services = resources
        .filter(({ type }) => type.endsWith("core/v1:Service"))
        .map((each) => metadataOf(each).name);
      return pods.flatMap(({ of, spec }) =>
        [...JSON.stringify(spec).matchAll(/([a-z0-9-]+)\.\$\(POD_NAMESPACE\)\.svc\./g)].flatMap(([, service = ""]) =>
          services.includes(service) ? [] : [`${of}: ${service}`],
        ),
      );
    });
  });

  it("have every script that they run, and every one that those read", () => {
    const withScripts = programs.flatMap((program) =>
      program.pods.flatMap((pod) =>
        pod.spec.volumes.filter(({ name }) => name === "scripts").map(({ configMap }) => ({ pod, program, configMap })),
      ),
    );
    expectNone(withScripts, ({ pod, program, configMap }) => {
      const files = filesNamed(program, configMap?.name);
      const runs = [...JSON.stringify(pod.spec).matchAll(/\/valkey\/scripts\/([\w-]+\.sh)/g)].map(
        ([, file = ""]) => file,
      );
      const needed = reached(runs, files);
      return runs.length === 0
        ? []
        : [...needed].filter((file) => !(file in files)).map((file) => `${pod.of}: ${file}`);
    });
  });

  it("have readiness probes that only ask: no command and no file of theirs changes anything", () => {
    const changes =
      /CONFIG SET|REPLICAOF|FAILOVER|SHUTDOWN|\bACL\b|SENTINEL (?!GET)|CLUSTER (?!INFO|NODES|MYID|SHARDS)|CLIENT |DEBUG|\brm |>>? *"?\$(?!DATA\/reached)/;
    const probed = programs.flatMap((program) =>
      program.pods.flatMap((pod) =>
        pod.spec.containers.flatMap(({ readinessProbe }) => {
          const command = JSON.stringify(readinessProbe?.exec?.command ?? []);
          const [, file, mode] = /\/valkey\/scripts\/(ready[\w-]*\.sh)"(?:,"(\w+)")?/.exec(command) ?? [];
          return file === undefined
            ? []
            : [{ program, pod, scripts: mode === undefined ? [file] : [file, `ready-${mode}.sh`] }];
        }),
      ),
    );
    expectNone(probed, ({ pod, program, scripts }) => {
      const mounted = pod.spec.volumes.find(({ name }) => name === "scripts")?.configMap?.name;
      const files = filesNamed(program, mounted);
      return [...reached(scripts, files)].flatMap((file) => {
        const code = (files[file] ?? "").split("\n").filter((line) => !/^ *#/.test(line));
        return code.filter((line) => changes.test(line)).map((line) => `${pod.of}: ${file}: ${line}`);
      });
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
      const { periodSeconds = 0, failureThreshold = 0 } = server?.startupProbe ?? {};
      const handOver = Number(server?.lifecycle?.preStop.exec.command[2] ?? 0);
      // The longest `onSilentReplica`.
      return periodSeconds * failureThreshold > 86_400 && spec.terminationGracePeriodSeconds > handOver + 60
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
