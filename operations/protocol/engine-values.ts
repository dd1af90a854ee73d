/** Values in the form in which Pulumi sends them to a provider: JSON with marks for secrets and unknown values. */
import * as pulumi from "@pulumi/pulumi";

const { deserializeProperty, isRpcSecret, specialSecretSig, specialSigKey, unwrapRpcSecret } =
  pulumi.runtime as unknown as {
    readonly deserializeProperty: (value: unknown, keepUnknowns: boolean) => unknown;
    readonly isRpcSecret: (value: unknown) => boolean;
    readonly unwrapRpcSecret: (value: unknown) => unknown;
    readonly specialSigKey: string;
    readonly specialSecretSig: string;
  };

export type Values = Readonly<Record<string, unknown>>;

interface PlainValues {
  readonly values: Values;
  /** Names of properties that are, or contain, a secret. */
  readonly secrets: ReadonlySet<string>;
}

/** @param properties as Pulumi sends them */
export function plainValues(properties: Values | undefined): PlainValues {
  const secrets = new Set<string>();
  const values: Record<string, unknown> = {};
  for (const [key, raw] of Object.entries(properties ?? {})) {
    const value = deserializeProperty(raw, true);
    if (isRpcSecret(value)) secrets.add(key);
    const plain = unwrapRpcSecret(value);
    if (!pulumi.containsUnknowns(plain)) values[key] = plain;
  }
  return { values, secrets };
}

/** Without undefined properties, because JSON has no undefined. */
export function engineValues(values: Values, secrets: ReadonlySet<string>): Values {
  const json = JSON.parse(JSON.stringify(values)) as Values;
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => [
      key,
      secrets.has(key) ? { [specialSigKey]: specialSecretSig, value } : value,
    ]),
  );
}

/** JSON with sorted keys, to compare values: the state does not keep the order of keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}
