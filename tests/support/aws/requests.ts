/** From the inputs of Pulumi's resources to the requests that AWS gets for them. */
import type { DeclaredResource } from "../pulumi/declared-resources";
import { plainArn } from "../pulumi/eks";
import { type Inputs, type Mapping, type Rule, PULUMI_INPUTS } from "./pulumi-inputs";
import { asMembers, memberOf, requestProblems } from "./shapes";

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

function requestsOf(
  { call, inputs: rules = {}, supplied = {} }: Mapping,
  inputs: object,
  problems: string[],
): Requests {
  const requests: Requests = new Map();
  put(requests, rules, inputs, "", problems, call);
  for (const [path, value] of Object.entries(supplied)) {
    const [own, ...members] = callAndMembers(path);
    for (const [each, request] of requests) if (each.replace(/#.*/, "") === own) setAt(request, members, value);
  }
  return requests;
}

function put(requests: Requests, rules: Inputs, inputs: object, path: string, problems: string[], call?: string): void {
  for (const [key, value] of Object.entries(inputs)) {
    // The providers leave out what is empty.
    if (value === undefined || (typeof value === "object" && Object.keys(value as object).length === 0)) continue;
    const rule = rules[key] ?? (call === undefined ? undefined : memberOf(call, key));
    if (rule === undefined) problems.push(`${path}${key}: the input has no rule in pulumi-inputs.ts`);
    else follow(requests, rule, value, `${path}${key}`, problems);
  }
}

function follow(requests: Requests, rule: Rule, value: unknown, path: string, problems: string[]): void {
  if (typeof rule === "string") give(requests, rule, plain(value));
  else if (isList(rule)) for (const each of rule) give(requests, each, plain(value));
  else if ("all" in rule) for (const each of rule.all) follow(requests, each, value, path, problems);
  else if ("inside" in rule) put(requests, rule.inside, value as object, `${path}.`, problems);
  else if ("each" in rule)
    for (const [name, each] of Object.entries(value as object))
      put(requests, rule.each(name), each as object, `${path}.${name}.`, problems);
  else if ("to" in rule) for (const each of [rule.to].flat()) give(requests, each, rule.as(plain(value)));
}

const isList = (rule: Rule): rule is readonly string[] => Array.isArray(rule);

function give(requests: Requests, target: string, value: unknown): void {
  const [call, ...members] = callAndMembers(target);
  const request = requests.get(call) ?? {};
  requests.set(call, request);
  setAt(request, members, asMembers(call.replace(/#.*/, ""), members, value));
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
