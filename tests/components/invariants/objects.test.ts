/** Invariants of every program of `tests/rendered/`: objects of deployments, what they select, and certificates. Each is said once, for all programs. */
import { describe, expect, it } from "vitest";
import { resourceKey } from "../../support/pulumi/declared-resources";
import type { Selecting } from "../../support/pulumi/invariants";
import {
  expectNone,
  matches,
  metadataOf,
  OF_OTHER_CLUSTERS,
  programs,
  resourcesOf,
  specOf,
  usePrograms,
  withPods,
} from "../../support/pulumi/invariants";

usePrograms();

describe("selectors", () => {
  it("of workloads select their own pods and no others", () => {
    expectNone(withPods(), ({ pods }) =>
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
    expectNone(withPods(), ({ resources, pods }) =>
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
    expectNone(withPods(), ({ resources, pods }) => {
      const budgets = resources.filter(({ type }) => type.endsWith(":PodDisruptionBudget"));
      return pods
        .filter(({ isServing, resource }) => isServing && specOf<{ replicas: number }>(resource).replicas > 1)
        .flatMap(({ of, labels }) => {
          const own = budgets.filter((budget) => matches(specOf<Selecting>(budget).selector.matchLabels, labels));
          return own.length === 1 &&
            own[0] !== undefined &&
            specOf<{ maxUnavailable: number }>(own[0]).maxUnavailable === 1
            ? []
            : [of];
        });
    });
  });

  it("of ServiceMonitors select the labels of their Service", () => {
    expectNone(
      programs.flatMap(({ resources }) =>
        resources.filter(({ type }) => type.endsWith(":ServiceMonitor")).map((monitor) => ({ monitor, resources })),
      ),
      ({ monitor, resources }) => {
        const { selector } = specOf<Selecting>(monitor);
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
        .filter(({ type }) => type === "valkey:index:Preparation")
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
            ({ type, dependsOn }) => type.endsWith(":Preparation") && dependsOn.includes(resourceKey(certificate)),
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
