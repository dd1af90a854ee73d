/** Fields of all pods of a deployment, which a stack file sets for its whole platform. */
import * as z from "zod";
import { type Fields, typed } from "./fields";

/** Name of a Kubernetes object. */
export const objectName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "expected lower-case letters, digits and hyphens");

export type PullPolicy = "Always" | "IfNotPresent";

/** Fields of the metrics exporter. */
export const METRICS_FIELDS = {
  /** Image of oliver006/redis_exporter. @default `EXPORTER_IMAGE` */
  image: z.string().min(1).optional(),
  /** Whether a ServiceMonitor is created. A ServiceMonitor needs the Prometheus operator. @default false */
  serviceMonitor: z.boolean().default(false),
};
export interface Metrics extends Fields<typeof METRICS_FIELDS> {}

/** The docstring of a field belongs to its schema, so a field without `optional` or `default` has a schema of its own. */
export const ISSUER_FIELDS = {
  /** Name of the issuer. */
  name: objectName.clone(),
  /**
   * Kind of the issuer. An `Issuer` is in the deployment's namespace. A `ClusterIssuer` serves all namespaces.
   * @default "Issuer"
   */
  kind: z.enum(["Issuer", "ClusterIssuer"]).default("Issuer"),
};
export interface CertificateIssuer extends Fields<typeof ISSUER_FIELDS> {}

export const TLS_FIELDS = {
  /**
   * Name of a Secret in the namespace with `tls.crt`, `tls.key` and `ca.crt`. The certificate must be valid for the DNS
   * names of the client Service and of every pod. Servers load a new certificate without a restart.
   * @default the Secret that the issuer writes
   */
  secretName: objectName.optional(),
  /**
   * Issuer of cert-manager, which must be installed. cert-manager writes the certificate to the Secret `NAME-tls` and
   * renews it.
   * @default none
   */
  issuer: typed<CertificateIssuer>(z.strictObject(ISSUER_FIELDS)).optional(),
};

/** Source of the servers' certificate. Set either `secretName` or `issuer`. */
export interface TlsSource extends Fields<typeof TLS_FIELDS> {}

/** Fields of the pods of every engine. */
export const POD_FIELDS = {
  /**
   * When machines ask the registry for the image: at every start of a container (`Always`), or only if they do not have
   * the image (`IfNotPresent`). With `IfNotPresent`, servers may run different images after somebody has pushed a new
   * image with the same tag. So use `IfNotPresent` with a tag only for images that were loaded onto the machines by
   * hand (CKV_K8S_15, a rule of the scanner checkov).
   * @default "IfNotPresent" for an image with a digest, else "Always"
   */
  imagePullPolicy: typed<PullPolicy>(z.enum(["Always", "IfNotPresent"])).optional(),
  /**
   * Names of Secrets in the namespace, of the type `kubernetes.io/dockerconfigjson`, with the credentials for the
   * registries of all images. A namespace that a stack creates has no such Secrets.
   * @default none
   */
  imagePullSecrets: z.array(objectName).optional(),
};

/** Fields of the pods of Valkey. */
export const VALKEY_POD_FIELDS = {
  /**
   * Image for the proxies in front of a primary with Sentinels. It must contain HAProxy 3.1 or newer with Lua, like the
   * official images of HAProxy.
   * @default `PROXY_IMAGE`
   */
  proxyImage: z.string().min(1).optional(),
  /** TLS for all connections: between clients and servers, and between servers. @default plain TCP */
  tls: typed<TlsSource>(
    z
      .strictObject(TLS_FIELDS)
      .refine(({ secretName, issuer }) => (secretName === undefined) !== (issuer === undefined), {
        message: "expected either secretName or issuer",
      }),
  ).optional(),
  /**
   * Whether all servers may restart at the same time, with which clients lose their connections. Turning TLS on or off
   * needs this permission. The servers keep their data. If the data is not on volumes, the change is refused.
   * @default false
   */
  allowDowntime: z.boolean().default(false),
};
