/** The components' arguments, outputs and types, read from their TypeScript declarations. */

export type Shape =
  | { readonly kind: "string" | "number" | "boolean" | "any" }
  | { readonly kind: "list" | "map"; readonly of: Value }
  | { readonly kind: "union"; readonly of: readonly Shape[] }
  /** Name of an entry in `ComponentModels.types`. */
  | { readonly kind: "named"; readonly name: string };

export interface Value {
  readonly shape: Shape;
  /** Whether the value must be known while the program runs; false for `Input`s and `Output`s. */
  readonly isPlain: boolean;
}

export interface Property extends Value {
  /** A name such as `io-threads` is possible. */
  readonly name: string;
  readonly description: string;
  /** Undefined if the declaration has no `@default`. */
  readonly standard: string | undefined;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
}

export interface Forms {
  readonly by: string;
  readonly of: Readonly<Record<string, { readonly required: readonly string[]; readonly optional: readonly string[] }>>;
}

export type NamedType =
  | { readonly kind: "enum"; readonly description: string; readonly values: readonly string[] }
  | {
      readonly kind: "object";
      readonly description: string;
      readonly properties: readonly Property[];
      readonly forms?: Forms | undefined;
    };

export interface ComponentModel {
  readonly name: string;
  readonly description: string;
  readonly example: string;
  readonly path: string;
  readonly inputs: readonly Property[];
  readonly outputs: readonly Property[];
}

export interface ComponentModels {
  readonly components: readonly ComponentModel[];
  readonly types: ReadonlyMap<string, NamedType>;
}

/** A property without a description has the description of its type. */
export function meaning({ description, shape }: Property, types: ReadonlyMap<string, NamedType>): string {
  if (description !== "" || shape.kind !== "named") return description;
  return types.get(shape.name)?.description ?? "";
}

export function reachable(
  properties: readonly Property[],
  types: ReadonlyMap<string, NamedType>,
  seen = new Set<string>(),
): Set<string> {
  const visit = (shape: Shape): void => {
    if (shape.kind === "list" || shape.kind === "map") visit(shape.of.shape);
    if (shape.kind === "union") shape.of.forEach(visit);
    if (shape.kind !== "named" || seen.has(shape.name)) return;
    seen.add(shape.name);
    const type = types.get(shape.name);
    if (type?.kind === "object") reachable(type.properties, types, seen);
  };
  for (const { shape } of properties) visit(shape);
  return seen;
}

/** Valkey and TypeScript allow a name such as `io-threads`, but most languages do not. */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
