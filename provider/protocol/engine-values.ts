/** Values as Pulumi's engine sends them to a provider: JSON in which secrets and unknown values are marked. */
import * as pulumi from "@pulumi/pulumi";

const { deserializeProperty, isRpcSecret, specialSecretSig, specialSigKey, unwrapRpcSecret } =
  pulumi.runtime as unknown as {
    readonly deserializeProperty: (value: unknown, keepUnknowns: boolean) => unknown;
    readonly isRpcSecret: (value: unknown) => boolean;
    readonly unwrapRpcSecret: (value: unknown) => unknown;
    readonly specialSigKey: string;
    readonly specialSecretSig: string;
  };

/** Inputs and outputs of any resource. */
export type Values = Readonly<Record<string, unknown>>;

/** Properties as plain JSON. */
export interface PlainValues {
  /** Without those that are not known yet. */
  readonly values: Values;
  /** Names of those that are, or contain, a secret. */
  readonly secrets: ReadonlySet<string>;
}

/** @param properties as the engine sends them; undefined where it sends none */
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

/** The engine's values of plain ones. JSON has no undefined, so keys that are undefined are left out. */
export function engineValues(values: Values, secrets: ReadonlySet<string>): Values {
  const json = JSON.parse(JSON.stringify(values)) as Values;
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => [
      key,
      secrets.has(key) ? { [specialSigKey]: specialSecretSig, value } : value,
    ]),
  );
}

/** JSON with sorted keys: the state keeps no order. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}
