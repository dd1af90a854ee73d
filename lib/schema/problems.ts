import type { z } from "zod";
import { didYouMean } from "../did-you-mean";
import { type Problem, problem, problemText } from "../errors";
import type { Path, SchemaNode } from "./json-schema";
import { alternatives, expectation, isMap, nodeAt, propertiesOf, toJsonSchema, valueAt } from "./json-schema";

export type Label = (path: Path) => string;

/** zod's own messages are replaced by a description from the JSON Schema, which says more. */
const ZOD_MESSAGE = /^(Too small|Too big|Invalid)\b/;

const LONGEST_QUOTE = 60;

/** An issue of this project has its code in `params.code`. @param schema with which the input was parsed */
export function describeIssues(
  schema: z.ZodType,
  input: unknown,
  issues: readonly z.core.$ZodIssue[],
  label: Label,
): Problem[] {
  return describeAll(toJsonSchema(schema), input, issues, label);
}

export function unknownKey(where: string, key: string, known: readonly string[]): Problem {
  const list = known.length === 0 ? "" : ` Allowed keys: ${known.join(", ")}`;
  return problem("unknown-key", where, `unknown key;${didYouMean(key, known)}${list}`);
}

function describeAll(node: SchemaNode, input: unknown, issues: readonly z.core.$ZodIssue[], label: Label): Problem[] {
  const all = issues.flatMap((issue) => describeIssue(node, input, issue, label));
  return [...new Map(all.map((each) => [problemText(each), each])).values()];
}

function describeIssue(node: SchemaNode, input: unknown, issue: z.core.$ZodIssue, label: Label): Problem[] {
  const { path, message } = issue;
  const where = label(path);
  const value = valueAt(input, path);
  const here = nodeAt(node, path, input);
  const wrong = (rest: string): Problem =>
    value === undefined
      ? problem("missing", where, ` is missing${rest}`)
      : problem("wrong-value", where, ` is ${quote(value)}${rest}`);
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = here === undefined ? [] : Object.keys(propertiesOf(here));
      return issue.keys.map((key) => unknownKey(label([...path, key]), key, known));
    }
    case "invalid_key":
      return [problem(ownCode(issue.issues[0]), where, issue.issues[0]?.message ?? message)];
    case "invalid_union": {
      const options = "options" in issue ? (issue.options ?? []).filter((option) => option !== undefined) : [];
      if (options.length > 0) return [wrong(`: expected one of ${options.map(String).join(", ")}`)];
      return inNearestAlternative(here, value, issue, (rest) => label([...path, ...rest])) ?? [wrong(described(here))];
    }
    case "custom":
      return [problem(ownCode(issue), where, message)];
    default:
      return [wrong(ZOD_MESSAGE.test(message) ? described(here) : `: ${message}`)];
  }
}

function ownCode(issue: z.core.$ZodIssue | undefined): string {
  const code: unknown = issue?.code === "custom" ? issue.params?.["code"] : undefined;
  return typeof code === "string" ? code : "wrong-value";
}

function described(node: SchemaNode | undefined): string {
  return node === undefined ? "" : `: expected ${expectation(node)}`;
}

/** Those of the form with the fewest unknown keys, then the fewest problems. */
function inNearestAlternative(
  node: SchemaNode | undefined,
  value: unknown,
  issue: z.core.$ZodIssueInvalidUnion,
  label: Label,
): Problem[] | undefined {
  if (node === undefined || !isMap(value)) return undefined;
  const unknownKeys = (issues: readonly z.core.$ZodIssue[]): number =>
    issues.reduce((sum, each) => sum + (each.code === "unrecognized_keys" ? each.keys.length : 0), 0);
  const forms = alternatives(node)
    .map((alternative, index) => ({ alternative, issues: issue.errors[index] ?? [] }))
    .filter(({ alternative }) => alternative.type === "object")
    .sort((a, b) => unknownKeys(a.issues) - unknownKeys(b.issues) || a.issues.length - b.issues.length);
  const [nearest] = forms;
  return nearest && describeAll(nearest.alternative, value, nearest.issues, label);
}

function quote(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE - 3)}…` : text;
}
