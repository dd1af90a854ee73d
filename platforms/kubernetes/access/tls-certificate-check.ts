import { createPrivateKey, X509Certificate } from "node:crypto";
import { messageOf } from "../../../lib/errors";
import { formatList } from "../../../lib/units";
import { statusInError } from "../api/api-errors";
import type { KubernetesClient } from "../api/client";

const KEYS = ["tls.crt", "tls.key", "ca.crt"] as const;
type SecretData = Readonly<Record<string, string>>;

type TlsSecretLook =
  | { readonly state: "absent" | "unreadable" }
  | { readonly state: "read"; readonly data: SecretData };

export async function readTlsSecret(
  kubernetes: KubernetesClient,
  namespace: string,
  name: string,
): Promise<TlsSecretLook> {
  try {
    const secret = await kubernetes.find(
      `reading Secret ${name} of namespace ${namespace}`,
      kubernetes.core.readNamespacedSecret({ namespace, name }),
    );
    return secret === undefined ? { state: "absent" } : { state: "read", data: secret.data ?? {} };
  } catch (error) {
    if (error instanceof Error && statusInError(error.cause)?.code === 403) return { state: "unreadable" };
    throw error;
  }
}

export function pemOf(data: SecretData, key: (typeof KEYS)[number]): string {
  return Buffer.from(data[key] ?? "", "base64").toString();
}

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** @param hosts which the certificate must contain, literally or by a wildcard */
export function tlsSecretProblems(data: SecretData, hosts: readonly string[], now: Date): string[] {
  const missing = KEYS.filter((key) => (data[key] ?? "") === "");
  if (missing.length > 0) return [`has no ${missing.join(", no ")}; expected ${KEYS.join(", ")}`];
  const problems: string[] = [];
  const attempt = <T>(key: string, read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      problems.push(`${key} cannot be read: ${messageOf(error)}`);
      return undefined;
    }
  };
  const chain = attempt("tls.crt", () => certificates(pemOf(data, "tls.crt")));
  const authorities = attempt("ca.crt", () => certificates(pemOf(data, "ca.crt")));
  const key = attempt("tls.key", () => createPrivateKey(pemOf(data, "tls.key")));
  const [leaf] = chain ?? [];
  if (chain === undefined || leaf === undefined || authorities === undefined || key === undefined) return problems;
  if (!leaf.checkPrivateKey(key)) problems.push("tls.key is not the key of tls.crt");
  const [from, until] = [new Date(leaf.validFrom), new Date(leaf.validTo)];
  if (until < now) problems.push(`tls.crt has expired: it was valid until ${until.toISOString()}`);
  if (from > now) problems.push(`tls.crt is not valid before ${from.toISOString()}`);
  if (!chain.some((each) => authorities.some((authority) => each.verify(authority.publicKey))))
    problems.push("no certificate of ca.crt has signed tls.crt");
  const unnamed = hosts.filter((host) => leaf.checkHost(host) === undefined);
  if (unnamed.length > 0)
    problems.push(`tls.crt does not name ${formatList(unnamed, 3)}; it names ${leaf.subjectAltName ?? "no DNS name"}`);
  return problems;
}

function certificates(text: string): X509Certificate[] {
  const found = text.match(PEM) ?? [];
  if (found.length === 0) throw new Error("it has no certificate in PEM");
  return found.map((each) => new X509Certificate(each));
}
