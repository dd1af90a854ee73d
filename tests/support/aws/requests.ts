/** From the inputs of Pulumi's resources to the requests that AWS gets for them. */
import type { DeclaredResource } from "../pulumi/declared-resources";
import { plainArn } from "../pulumi/eks";
import type { Inputs, Mapping, Rule } from "./mapping";
import { PULUMI_INPUTS } from "./pulumi-inputs";
import { requestProblems } from "./shapes";

/** A request by its call, such as `eks.CreateAddon#vpc-cni`. */
type Requests = Map<string, Record<string, unknown>>;

/** Resources of AWS, by the prefixes of their types. The components of this project make no calls. */
export function isOfAws(type: string): boolean {
  return /^(aws|awsx|eks|pulumi:providers:aws)(:|$)/.test(type);
}

/**
 * Objections of AWS' models to the inputs of a resource.
 * @returns one line per problem; empty where AWS would take it. A type or an input without a rule is a problem.
 */
export function parameterProblems({
  type,
  name,
  inputs,
}: Pick<DeclaredResource, "type" | "name" | "inputs">): string[] {
  const mapping = PULUMI_INPUTS[type];
  if (mapping === undefined) return [`${type} ${name}: the type has no rules in pulumi-inputs.ts`];
  const problems: string[] = [];
  const requests = requestsOf(mapping, inputs, problems);
  for (const [call, request] of requests) problems.push(...requestProblems(call.replace(/#.*/, ""), request));
  return problems.map((problem) => `${type} ${name}: ${problem}`);
}

function requestsOf({ inputs: rules, supplied = {} }: Mapping, inputs: object, problems: string[]): Requests {
  const requests: Requests = new Map();
  put(requests, rules, inputs, "", problems);
  for (const [path, value] of Object.entries(supplied)) {
    const [call, ...members] = callAndMembers(path);
    for (const [each, request] of requests) if (each.replace(/#.*/, "") === call) setAt(request, members, value);
  }
  return requests;
}

function put(requests: Requests, rules: Inputs, inputs: object, path: string, problems: string[]): void {
  for (const [key, value] of Object.entries(inputs)) {
    // The providers leave out what is empty.
    if (value === undefined || (typeof value === "object" && Object.keys(value as object).length === 0)) continue;
    const rule = rules[key];
    if (rule === undefined) problems.push(`${path}${key}: the input has no rule in pulumi-inputs.ts`);
    else follow(requests, rule, value, `${path}${key}`, problems);
  }
}

function follow(requests: Requests, rule: Rule, value: unknown, path: string, problems: string[]): void {
  if (typeof rule !== "string") {
    if ("provider" in rule) return;
    if ("all" in rule) {
      for (const each of rule.all) follow(requests, each, value, path, problems);
      return;
    }
    if ("inside" in rule) {
      put(requests, rule.inside, value as object, `${path}.`, problems);
      return;
    }
    if ("each" in rule) {
      for (const [name, each] of Object.entries(value as object))
        put(requests, rule.each(name), each as object, `${path}.${name}.`, problems);
      return;
    }
  }
  const { to, converted } = place(rule, value, path, problems);
  for (const target of to) {
    const [call, ...members] = callAndMembers(target);
    const request = requests.get(call) ?? {};
    requests.set(call, request);
    setAt(request, members, converted);
  }
}

type Placement = string | Extract<Rule, { readonly to: unknown }>;

function place(
  rule: Placement,
  value: unknown,
  path: string,
  problems: string[],
): { readonly to: readonly string[]; readonly converted: unknown } {
  if (typeof rule === "string") return { to: [rule], converted: plain(value) };
  const { to, as = (same: unknown) => same, fields } = rule;
  const renamed = (one: unknown): unknown => {
    const into: Record<string, unknown> = {};
    for (const [key, each] of Object.entries(one as object)) {
      const inner = fields?.[key];
      if (inner === undefined || typeof inner === "string" || !("to" in inner))
        problems.push(`${path}.${key}: the input has no rule in pulumi-inputs.ts`);
      else {
        const placed = place(inner, each, `${path}.${key}`, problems);
        for (const member of placed.to) setAt(into, member.split("."), placed.converted);
      }
    }
    return into;
  };
  const own = fields === undefined ? plain(value) : Array.isArray(value) ? value.map(renamed) : renamed(value);
  return { to: typeof to === "string" ? [to] : to, converted: as(own) };
}

/** Ids that mocks add to ARNs are no part of a request. */
function plain(value: unknown): unknown {
  if (typeof value === "string") return plainArn(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

/** `eks.CreateAddon#coredns` and `addonName` of `eks.CreateAddon#coredns.addonName`. */
function callAndMembers(target: string): [string, ...string[]] {
  const [service, operation, ...members] = target.split(".");
  return [`${service ?? ""}.${operation ?? ""}`, ...members];
}

/** Numbers in a path are indices of lists. */
function setAt(into: Record<string, unknown>, [first = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) into[first] = value;
  else {
    into[first] ??= /^\d+$/.test(rest[0] ?? "") ? [] : {};
    setAt(into[first] as Record<string, unknown>, rest, value);
  }
}
