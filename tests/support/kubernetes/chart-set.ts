/** The upstream chart's StatefulSet as the chart makes it of its values, as far as tests look. Mocks of Pulumi render no chart. */
import { selectorLabels } from "../../../components/kubernetes/names";
import type { DeclaredResource, ProgramRun } from "../pulumi/pulumi-mocks";

export const CHART = "kubernetes:helm.sh/v4:Chart";

interface Values {
  readonly fullnameOverride: string;
  readonly replica: {
    readonly replicas: number;
    readonly persistence: { readonly size: string; readonly storageClass: string };
  };
  readonly resources: object;
  readonly affinity: object;
  readonly topologySpreadConstraints: readonly object[];
  readonly nodeSelector: object;
  readonly tolerations: readonly object[];
}

/** The StatefulSets of all deployments by the upstream chart. Stacks on EKS have charts of other programs too. */
export const chartSets = (program: ProgramRun): DeclaredResource[] =>
  program
    .ofType(CHART)
    .filter(({ inputs }) => inputs["chart"] === "valkey")
    .map(chartSet);

function chartSet(chart: DeclaredResource): DeclaredResource {
  const { fullnameOverride: name, replica, resources, ...rest } = chart.inputs["values"] as Values;
  const { affinity, topologySpreadConstraints, nodeSelector, tolerations } = rest;
  const { size: storage, storageClass: storageClassName } = replica.persistence;
  const labels = selectorLabels(name);
  const containers = [{ name, resources }];
  return {
    ...chart,
    inputs: {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name },
      spec: {
        replicas: replica.replicas + 1,
        serviceName: `${name}-headless`,
        podManagementPolicy: "OrderedReady",
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { affinity, topologySpreadConstraints, nodeSelector, tolerations, containers },
        },
        volumeClaimTemplates: [
          {
            metadata: { name: "valkey-data" },
            spec: { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage } } },
          },
        ],
      },
    },
  };
}
