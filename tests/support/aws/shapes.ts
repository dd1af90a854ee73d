/**
 * AWS' own models of its calls, and what they have against a request. `shapes.json` is an extract of botocore's models
 * with only what a request is checked by; `extract-shapes.ts` makes it.
 */
import { z } from "zod";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Limits of a value. botocore has them on shapes; those that only its documentation states are on members. */
const limitsSchema = {
  enum: z.array(z.union([z.string(), z.number()])).optional(),
  pattern: z.string().optional(),
  min: z.number().optional(),
  max: z.number().optional(),
};
const referenceSchema = z.strictObject({ shape: z.string(), ...limitsSchema });
const shapeSchema = z.strictObject({
  type: z.enum(["structure", "list", "map", "string", "integer", "long", "boolean", "double", "float", "timestamp"]),
  required: z.array(z.string()).optional(),
  members: z.record(z.string(), referenceSchema).optional(),
  member: referenceSchema.optional(),
  key: referenceSchema.optional(),
  value: referenceSchema.optional(),
  ...limitsSchema,
});
const extractSchema = z.strictObject({
  source: z.strictObject({ package: z.string(), version: z.string(), licence: z.string() }),
  services: z.record(
    z.string(),
    z.strictObject({
      version: z.string(),
      /** Shape of each call's input, by the call's name. */
      operations: z.record(z.string(), z.string()),
      shapes: z.record(z.string(), shapeSchema),
    }),
  ),
});

export type Reference = z.infer<typeof referenceSchema>;
export type Shape = z.infer<typeof shapeSchema>;
export type Extract = z.infer<typeof extractSchema>;
type Limits = Pick<Reference, "enum" | "pattern" | "min" | "max">;

const EXTRACT = extractSchema.parse(JSON.parse(readFileSync(join(__dirname, "shapes.json"), "utf8")));

export function shapeOf(service: string, name: string): Shape {
  const shape = EXTRACT.services[service]?.shapes[name];
  if (shape === undefined) throw new Error(`shapes.json has no ${name} of ${service}: run extract-shapes.ts`);
  return shape;
}

/**
 * Objections of a call's model to a request.
 * @param call such as `eks.CreateCluster`
 * @returns one line per problem, each with its path; empty for a valid request
 */
export function requestProblems(call: string, request: unknown): string[] {
  const [service = "", operation = ""] = call.split(".");
  const input = EXTRACT.services[service]?.operations[operation];
  if (input === undefined) return [`${call}: shapes.json has no such call: run extract-shapes.ts`];
  return problemsOf({ service, path: call }, { shape: input }, request);
}

function shapeAt(call: string, members: readonly string[]): Shape | undefined {
  const [service = "", operation = ""] = call.split(".");
  const named = (name: string | undefined): Shape | undefined =>
    name === undefined ? undefined : EXTRACT.services[service]?.shapes[name];
  return members.reduce(
    (shape, key) => named((shape?.members?.[key] ?? shape?.member ?? shape?.value)?.shape),
    named(EXTRACT.services[service]?.operations[operation]),
  );
}

/** Name of a member in AWS' spelling, whose capitals differ from the providers'. */
const spelling = (shape: Shape | undefined, key: string): string | undefined =>
  Object.keys(shape?.members ?? {}).find((each) => each.toLowerCase() === key.toLowerCase());

export function memberOf(path: string, input: string): string | undefined {
  const [service = "", operation = "", ...members] = path.split(".");
  const key = spelling(shapeAt(`${service}.${operation}`, members), input);
  return key && `${path}.${key}`;
}

export function asMembers(call: string, members: readonly string[], value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => asMembers(call, [...members, "0"], each));
  if (!isRecord(value)) return value;
  const shape = shapeAt(call, members);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const own = spelling(shape, key) ?? key;
      return [own, asMembers(call, [...members, own], each)];
    }),
  );
}

interface Place {
  readonly service: string;
  readonly path: string;
}

function problemsOf({ service, path }: Place, reference: Reference, value: unknown): string[] {
  const shape = shapeOf(service, reference.shape);
  const at = (key: string | number): Place => ({ service, path: `${path}.${key}` });
  const wrongType = [`${path}: ${JSON.stringify(value)} is no ${shape.type}`];
  switch (shape.type) {
    case "structure": {
      if (!isRecord(value)) return wrongType;
      const members = shape.members ?? {};
      return [
        ...(shape.required ?? []).filter((key) => value[key] === undefined).map((key) => `${path}.${key}: is missing`),
        ...Object.entries(value).flatMap(([key, each]) => {
          const member = members[key];
          if (member === undefined) return [`${path}.${key}: there is no such member`];
          return each === undefined ? [] : problemsOf(at(key), member, each);
        }),
      ];
    }
    case "list": {
      if (!Array.isArray(value)) return wrongType;
      const { member } = shape;
      if (member === undefined) throw new Error(`${reference.shape} has no member`);
      return [
        ...limitProblems(path, shape, value.length, "elements"),
        ...value.flatMap((each: unknown, index) => problemsOf(at(index), member, each)),
      ];
    }
    case "map": {
      if (!isRecord(value)) return wrongType;
      const { key, value: element } = shape;
      if (key === undefined || element === undefined) throw new Error(`${reference.shape} has no key or value`);
      return [
        ...limitProblems(path, shape, Object.keys(value).length, "entries"),
        ...Object.entries(value).flatMap(([name, each]) => [
          ...problemsOf(at(`key ${name}`), key, name),
          ...problemsOf(at(name), element, each),
        ]),
      ];
    }
    case "boolean":
      return typeof value === "boolean" ? [] : wrongType;
    case "string":
    case "timestamp":
      return typeof value === "string"
        ? [shape, reference].flatMap((limits) => [
            ...limitProblems(path, limits, Array.from(value).length, "characters"),
            ...wordProblems(path, limits, value),
          ])
        : wrongType;
    case "integer":
    case "long":
    case "double":
    case "float":
      return typeof value === "number" && (Number.isInteger(value) || shape.type === "double" || shape.type === "float")
        ? [shape, reference].flatMap((limits) => [
            ...limitProblems(path, limits, value),
            ...wordProblems(path, limits, value),
          ])
        : wrongType;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function limitProblems(path: string, { min, max }: Limits, size: number, unit?: string): string[] {
  const of = unit === undefined ? String(size) : `${size} ${unit}`;
  return [
    ...(min !== undefined && size < min ? [`${path}: ${of}, at least ${min}`] : []),
    ...(max !== undefined && size > max ? [`${path}: ${of}, at most ${max}`] : []),
  ];
}

function wordProblems(path: string, { enum: allowed, pattern }: Limits, value: string | number): string[] {
  const text = JSON.stringify(value);
  return [
    ...(allowed !== undefined && !allowed.includes(value)
      ? [`${path}: ${text} is none of ${allowed.length > 30 ? `${allowed.length} values` : allowed.join(", ")}`]
      : []),
    ...(pattern !== undefined && !wholeText(pattern).test(String(value))
      ? [`${path}: ${text} does not match ${pattern}`]
      : []),
  ];
}

/** With the flag `u`, which classes such as `\p{L}` need, JavaScript refuses escapes that other languages allow. */
function wholeText(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`, /\\p\{/.test(pattern) ? "u" : "");
}
