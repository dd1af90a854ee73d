/** A certificate from cert-manager for the servers of a deployment. */
import * as pulumi from "@pulumi/pulumi";
import { CLUSTER_DOMAIN } from "../../../platforms/kubernetes/api/cluster-domain";
import { nodeCount } from "../../../valkey/topology/placement";
import type { CertificateIssuer, ServerArgs } from "../arguments";
import * as k8s from "../kubernetes-sdk";
import { objectLabels, objectNames } from "../names";
import type { DeploymentKind } from "../deployment-kind";

/** Hosts whose names the certificate must have: where clients connect, and every pod of servers and Sentinels. */
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
 * cert-manager writes tls.crt, tls.key and ca.crt to the Secret, and renews them: servers load the new files by
 * themselves. Its names outlive every change of shape and of Sentinels. cert-manager keeps the Secret when the deployment is
 * destroyed, unless it runs with --enable-certificate-owner-ref.
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
        // Nodes are servers and clients of each other.
        usages: ["server auth", "client auth"],
        privateKey: { rotationPolicy: "Always" },
        issuerRef: { group: "cert-manager.io", kind, name },
      },
    },
    { parent },
  );
}
