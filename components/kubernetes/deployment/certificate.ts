/** A certificate from cert-manager for the servers of a deployment. */
import * as pulumi from "@pulumi/pulumi";
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/api/cluster-domain";
import { nodeCount } from "../../../valkey/topology/placement";
import type { CertificateIssuer } from "../../../model/pods";
import type { ServerArgs } from "../arguments";
import * as k8s from "../kubernetes-sdk";
import { objectLabels, objectNames } from "../names";
import type { DeploymentKind } from "../deployment-context";

/**
 * Host names that the certificate must contain: the names of the client Service, and the names of all pods of servers
 * and Sentinels.
 */
export function certificateHosts(
  deployment: string,
  { shape, sentinel }: Pick<DeploymentKind, "shape" | "sentinel">,
  { namespace, clusterDomain = CLUSTER_DOMAIN }: Pick<ServerArgs, "namespace" | "clusterDomain">,
): pulumi.Output<string[]> {
  const names = objectNames(deployment);
  const numbered = (set: string, count: number, service: string): string[] =>
    Array.from({ length: count }, (_, index) => `${set}-${index}.${service}`);
  const hosts = [
    names.client,
    ...numbered(names.statefulSet, nodeCount(shape), names.headless),
    ...numbered(names.sentinel, sentinel?.count ?? 0, names.sentinel),
  ];
  return pulumi.output(namespace).apply((where) => hosts.map((host) => `${host}.${where}.svc.${clusterDomain}`));
}

/**
 * cert-manager renews the Secret, and servers load renewed files by themselves. Wildcard names stay valid when the
 * shape or the Sentinels change. The Secret outlives the deployment, unless cert-manager runs with
 * --enable-certificate-owner-ref.
 */
export function createCertificate(
  deployment: string,
  { namespace, clusterDomain = CLUSTER_DOMAIN }: Pick<ServerArgs, "namespace" | "clusterDomain">,
  secretName: string,
  { name, kind = "Issuer" }: CertificateIssuer,
  parent: pulumi.Resource,
): pulumi.Resource {
  const { client, read, headless, sentinel } = objectNames(deployment);
  const hosts = [client, read, `*.${headless}`, `*.${sentinel}`];
  return new k8s.apiextensions.CustomResource(
    `${deployment}-certificate`,
    {
      apiVersion: "cert-manager.io/v1",
      kind: "Certificate",
      metadata: { name: deployment, namespace, labels: objectLabels(deployment) },
      spec: {
        secretName,
        dnsNames: pulumi
          .output(namespace)
          .apply((where) => [...hosts.map((host) => `${host}.${where}.svc.${clusterDomain}`), "localhost"]),
        // A node is a server to some nodes and a client of others.
        usages: ["server auth", "client auth"],
        privateKey: { rotationPolicy: "Always" },
        issuerRef: { group: "cert-manager.io", kind, name },
      },
    },
    { parent },
  );
}
