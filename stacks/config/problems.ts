/** What zod finds wrong, as sentences: where, what, what would be allowed, and what was probably meant. Pure. */
import { closest, distance } from "fastest-levenshtein";
import { z } from "zod";

type Path = readonly PropertyKey[];

/**
 * One sentence per issue.
 * @param schema what the input was parsed by, to list the keys it knows
 * @param label turns a path into how the user wrote it: `valkey:benchmark.clients`, or `--clients`
 */
export function describeIssues(
  schema: z.core.$ZodType,
  input: unknown,
  issues: readonly z.core.$ZodIssue[],
  label: (path: Path) => string,
): string[] {
  const sentences = issues.flatMap((issue) => {
    const where = label(issue.path);
    switch (issue.code) {
      case "unrecognized_keys":
        return (
          inNearestForm(schema, input, issue.path, label) ??
          issue.keys.map((key) => unknownKey(label([...issue.path, key]), key, keysAt(schema, issue.path, input)))
        );
      case "invalid_union":
        return (
          (issue.discriminator === undefined ? inNearestForm(schema, input, issue.path, label) : undefined) ?? [
            issue.discriminator === undefined
              ? `${where} is ${quote(valueAt(input, issue.path))}: ${unionMessage(issue)}`
              : `${where} is ${quote(valueAt(input, issue.path))}: ${optionsMessage(schema, input, issue)}`,
          ]
        );
      case "invalid_key":
        return [`${where}: ${issue.issues[0]?.message ?? issue.message}`];
      case "invalid_type":
        return [
          valueAt(input, issue.path) === undefined
            ? `${where} is missing: expected ${issue.expected}`
            : `${where} is ${quote(valueAt(input, issue.path))}: expected ${article(issue.expected)}`,
        ];
      case "custom":
        return [`${where}: ${issue.message}`];
      default:
        return [`${where} is ${quote(valueAt(input, issue.path))}: ${plain(issue.message)}`];
    }
  });
  return [...new Set(sentences)];
}

/** `x: unknown key; did you mean y? Known here: …` */
export function unknownKey(where: string, key: string, known: readonly string[]): string {
  const list = known.length === 0 ? "" : ` Known here: ${known.join(", ")}`;
  return `${where}: unknown key;${didYouMean(key, known)}${list}`;
}

/** ` did you mean x?`, or nothing when nothing is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  if (known.length === 0) return "";
  const nearest = closest(word, [...known]);
  return distance(word, nearest) <= Math.max(2, Math.floor(word.length / 3)) ? ` did you mean ${nearest}?` : "";
}

/** What is wrong with a map that may have one of several forms, by the form that it is nearest to: first by its keys. Undefined where there is but one. */
function inNearestForm(
  schema: z.core.$ZodType,
  input: unknown,
  path: Path,
  label: (path: Path) => string,
): string[] | undefined {
  const union = descend(schema, path, input);
  const value = valueAt(input, path);
  if (union?._zod.def.type !== "union" || !isMap(value)) return undefined;
  const strangers = (issues: readonly z.core.$ZodIssue[]): number =>
    issues.reduce(
      (sum, issue) => sum + (issue.code === "unrecognized_keys" && issue.path.length === 0 ? issue.keys.length : 0),
      0,
    );
  const forms = (union as z.core.$ZodUnion)._zod.def.options
    .filter((option) => option._zod.def.type === "object")
    .map((option) => ({ option, issues: z.core.safeParse(option, value).error?.issues ?? [] }));
  const [nearest] = forms.sort(
    (a, b) => strangers(a.issues) - strangers(b.issues) || a.issues.length - b.issues.length,
  );
  return nearest && describeIssues(nearest.option, value, nearest.issues, (rest) => label([...path, ...rest]));
}

function isMap(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unionMessage(issue: z.core.$ZodIssueInvalidUnion): string {
  const expected = issue.errors.flat().flatMap((each) => (each.code === "invalid_type" ? [each.expected] : []));
  return expected.length === 0 ? plain(issue.message) : `expected ${[...new Set(expected)].join(" or ")}`;
}

function optionsMessage(schema: z.core.$ZodType, input: unknown, issue: z.core.$ZodIssueInvalidUnion): string {
  const union = descend(schema, issue.path.slice(0, -1), input);
  const options =
    union?._zod.def.type === "union" ? optionsOf(union, issue.discriminator ?? "").map(({ value }) => value) : [];
  return options.length === 0 ? plain(issue.message) : `expected one of ${options.join(", ")}`;
}

/** The keys an object may have at a path; none where there is no object. */
function keysAt(schema: z.core.$ZodType, path: Path, input: unknown): string[] {
  const found = descend(schema, path, input);
  return found?._zod.def.type === "object" ? Object.keys((found as z.core.$ZodObject)._zod.def.shape) : [];
}

/** The schema at a path, through optionals, defaults, records, arrays, and unions by the input's discriminator. */
function descend(schema: z.core.$ZodType | undefined, path: Path, input: unknown): z.core.$ZodType | undefined {
  if (schema === undefined) return undefined;
  const { def } = schema._zod;
  const [key, ...rest] = path;
  switch (def.type) {
    case "optional":
    case "default":
    case "prefault":
    case "nullable":
      return descend((schema as z.core.$ZodOptional)._zod.def.innerType, path, input);
    case "pipe":
      return descend((schema as z.core.$ZodPipe)._zod.def.in, path, input);
    case "union": {
      const { def: union } = (schema as z.core.$ZodUnion | z.core.$ZodDiscriminatedUnion)._zod;
      const discriminator = "discriminator" in union ? union.discriminator : undefined;
      const chosen =
        discriminator === undefined
          ? undefined
          : optionsOf(schema, discriminator).find(
              ({ value }) => value === (input as Record<string, unknown> | undefined)?.[discriminator],
            );
      if (chosen === undefined) return key === undefined ? schema : undefined;
      return descend(chosen.option, path, input);
    }
    case "object":
      if (key === undefined) return schema;
      return descend((schema as z.core.$ZodObject)._zod.def.shape[String(key)], rest, valueAt(input, [key]));
    case "record":
      return key === undefined
        ? schema
        : descend((schema as z.core.$ZodRecord)._zod.def.valueType, rest, valueAt(input, [key]));
    case "array":
      return key === undefined
        ? schema
        : descend((schema as z.core.$ZodArray)._zod.def.element, rest, valueAt(input, [key]));
    default:
      return key === undefined ? schema : undefined;
  }
}

function optionsOf(union: z.core.$ZodType, discriminator: string): { value: string; option: z.core.$ZodType }[] {
  return (union as z.core.$ZodUnion)._zod.def.options.flatMap((option) => {
    const literal =
      option._zod.def.type === "object" ? (option as z.core.$ZodObject)._zod.def.shape[discriminator] : undefined;
    if (literal?._zod.def.type !== "literal") return [];
    return (literal as z.core.$ZodLiteral)._zod.def.values.map((value) => ({ value: String(value), option }));
  });
}

function valueAt(input: unknown, path: Path): unknown {
  let value = input;
  for (const key of path)
    value = typeof value === "object" && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  return value;
}

function quote(value: unknown): string {
  const text = value === undefined ? "missing" : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function article(type: string): string {
  return type === "int" ? "a whole number" : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** zod's own words without their label: `Too small: expected number to be >=3` → `expected number to be >=3`. */
function plain(message: string): string {
  return message.replace(/^(Too small|Too big|Invalid input|Invalid option|Invalid string): /, "");
}
