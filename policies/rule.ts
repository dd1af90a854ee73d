/** A guardrail: a pure function from a resource to its violations. */

/** A declared resource, with secrets unwrapped. */
export interface CheckedResource {
  /** Type in Pulumi, such as `kubernetes:apps/v1:StatefulSet`. */
  readonly type: string;
  readonly name: string;
  readonly props: Readonly<Record<string, unknown>>;
}

export interface Rule {
  /** Name of the rule in the policy pack: lower-case letters, digits and hyphens. */
  readonly name: string;
  readonly description: string;
  /** @returns a sentence per violation; empty if the resource complies or the rule does not apply */
  readonly check: (resource: CheckedResource) => string[];
}

export function propertyAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (each, key) =>
      typeof each === "object" && each !== null ? (each as Record<string | number, unknown>)[key] : undefined,
    value,
  );
}

/** In a preview a value may exist without being known. */
export function hasProperty(value: unknown, ...path: readonly [string, ...string[]]): boolean {
  const parent = propertyAt(value, ...path.slice(0, -1));
  return (
    typeof parent === "object" &&
    parent !== null &&
    Object.getOwnPropertyDescriptor(parent, path.at(-1) ?? "")?.value !== undefined
  );
}

/** For a remote component the engine knows only the inputs of the component's children. */
export function hasInputs({ props }: CheckedResource): boolean {
  return Object.keys(props).length > 0;
}

export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = propertyAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

export function textAt(value: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = propertyAt(value, ...path);
  return typeof found === "string" || typeof found === "number" || typeof found === "boolean"
    ? String(found)
    : undefined;
}

export function entriesAt(value: unknown, ...path: readonly (string | number)[]): [string, unknown][] {
  const found = propertyAt(value, ...path);
  return typeof found === "object" && found !== null && !Array.isArray(found) ? Object.entries(found) : [];
}
