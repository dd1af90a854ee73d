/** What a guardrail is: a plain function from a resource to what is wrong with it. */

/** A resource as its program declares it; secrets are unwrapped. */
export interface CheckedResource {
  /** Such as `kubernetes:apps/v1:StatefulSet`. */
  readonly type: string;
  readonly name: string;
  readonly props: Readonly<Record<string, unknown>>;
}

export interface Rule {
  /** Small letters, digits and hyphens: how the policy pack knows it. */
  readonly name: string;
  readonly description: string;
  /** @returns a sentence per violation; none where the rule holds or has nothing to say */
  readonly check: (resource: CheckedResource) => string[];
}

/** A value where a path leads, whatever is on the way. */
export function propertyAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (each, key) =>
      typeof each === "object" && each !== null ? (each as Record<string | number, unknown>)[key] : undefined,
    value,
  );
}

/** Whether there is something where a path leads, also what a preview cannot know yet: that cannot be read, but is there. */
export function hasProperty(value: unknown, ...path: readonly [string, ...string[]]): boolean {
  const parent = propertyAt(value, ...path.slice(0, -1));
  return (
    typeof parent === "object" &&
    parent !== null &&
    Object.getOwnPropertyDescriptor(parent, path.at(-1) ?? "")?.value !== undefined
  );
}

/** A remote component is a resource of which the engine is told no inputs, by the providers that there are; only what is made of it has some. */
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
