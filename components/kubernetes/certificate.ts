/** A certificate from cert-manager for the servers of a deployment. */
import * as pulumi from "@pulumi/pulumi";
import { CLUSTER_DOMAIN } from "../../platforms/kubernetes/cluster-domain";
import type { CertificateIssuer, ServerArgs } from "./arguments";
import * as k8s from "./kubernetes-sdk";
import { objectLabels, objectNames } from "./names";

/** Hosts that clients and nodes connect to: the client Service and, without their number, the pods. */
export function certificateHosts(
  deployment: string,
  { namespace, clusterDomain = CLUSTER_DOMAIN }: Pick<ServerArgs, "namespace" | "clusterDomain">,
  pods: readonly string[],
): pulumi.Output<string[]> {
  const { client, headless } = objectNames(deployment);
  return pulumi.output(namespace).apply((where) => {
    const suffix = `${where}.svc.${clusterDomain}`;
    return [`${client}.${suffix}`, ...pods.map((pod) => `${pod}.${headless}.${suffix}`)];
  });
}

/**
 * cert-manager writes tls.crt, tls.key and ca.crt to the Secret, and renews them: servers load the new files by
 * themselves. The wildcard outlives every change of shape. cert-manager keeps the Secret when the deployment is
 * destroyed, unless it runs with --enable-certificate-owner-ref.
 */
export function createCertificate(
  deployment: string,
  args: Pick<ServerArgs, "namespace" | "clusterDomain">,
  secretName: string,
  { name, kind = "Issuer" }: CertificateIssuer,
  parent: pulumi.Resource,
): pulumi.Resource {
  const { client, read } = objectNames(deployment);
  return new k8s.apiextensions.CustomResource(
    `${deployment}-certificate`,
    {
      apiVersion: "cert-manager.io/v1",
      kind: "Certificate",
      metadata: { name: deployment, namespace: args.namespace, labels: objectLabels(deployment) },
      spec: {
        secretName,
        dnsNames: certificateHosts(deployment, args, ["*"]).apply(([service = "", pods = ""]) => [
          service,
          service.replace(client, read),
          pods,
          "localhost",
        ]),
        // Nodes are servers and clients of each other.
        usages: ["server auth", "client auth"],
        privateKey: { rotationPolicy: "Always" },
        issuerRef: { group: "cert-manager.io", kind, name },
      },
    },
    { parent },
  );
}
