/**
 * Fields: a schema for each name. The schema checks a value, and the docstring of the field is its text in TypeScript,
 * in the reference pages, in `components/plugin/schema.json` and in `stacks/schema.json`. `@unit` names the unit of a
 * number, and `@default` a default that is not a constant.
 */
import * as z from "zod";
import type { Problem } from "../lib/errors";
import { describeIssues } from "../lib/schema/problems";

export type FieldSchemas = Readonly<Record<string, z.ZodType>>;

type Given<T> = T extends readonly (infer Item)[] ? readonly Item[] : T;
type OptionalNames<S extends FieldSchemas> = {
  [Name in keyof S]: undefined extends z.input<S[Name]> ? Name : never;
}[keyof S];
type Required<S extends FieldSchemas> = { readonly [Name in keyof S]: Given<z.input<S[Name]>> };
type Optional<S extends FieldSchemas> = { readonly [Name in keyof S]?: Given<z.input<S[Name]>> | undefined };

/** The values that a program gives. Each keeps the docstring of its field. */
export type Fields<S extends FieldSchemas> = Required<Omit<S, OptionalNames<S>>> & Optional<Pick<S, OptionalNames<S>>>;

/** The values after their checks, such as a size in bytes for `256mb`. */
export type ParsedFields<S extends FieldSchemas> = { readonly [Name in keyof S]?: z.output<S[Name]> };

/** The schema of a type that has a name, which the compiler's own type for a schema would lose. */
export const typed = <T>(schema: z.ZodType): z.ZodType<T, T> => schema as z.ZodType<T, T>;

type Picked<S, V> = { [Name in keyof Pick<V, keyof S & keyof V>]: Exclude<V[Name], undefined> };

/** Only the given fields of an object, without undefined values. */
export function pickFields<S extends FieldSchemas, V extends object>(fields: S, values: V): Picked<S, V> {
  const given = Object.entries(values).filter(([name, value]) => name in fields && value !== undefined);
  return Object.fromEntries(given) as Picked<S, V>;
}

/** Names of the fields whose values differ from their defaults. */
export function changedFields(fields: FieldSchemas, values: object): string[] {
  const isChanged = (name: string): boolean => Reflect.get(values, name) !== fields[name]?.safeParse(undefined).data;
  return Object.keys(fields).filter(isChanged);
}

/** Every problem of the given fields, each with its path. Other properties are not checked. */
export function fieldProblems(fields: FieldSchemas, values: object): Problem[] {
  const schema = z.object(fields);
  const parsed = schema.safeParse(values);
  if (parsed.success) return [];
  return describeIssues(schema, values, parsed.error.issues, (path) => path.map(String).join("."));
}
