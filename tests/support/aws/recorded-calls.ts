/** Calls to AWS as moto's recorder keeps them, a line of JSON each. Pure. */
import { z } from "zod";

const entrySchema = z.object({
  method: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string().nullable(),
  body_encoded: z.boolean(),
});

export interface RecordedCall {
  readonly service: string;
  readonly operation: string;
  readonly region: string;
  /** Milliseconds since the epoch, to the second. */
  readonly sentMs: number;
  /** Parameters; those of EC2 and IAM as AWS' query protocol names them, such as `TagSpecification.1.Tag.2.Key`. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** @param text the recording; calls of other clients than Karpenter's SDK are left out */
export function recordedCalls(text: string): RecordedCall[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => callOf(entrySchema.parse(JSON.parse(line))));
}

function callOf({ method, url, headers, body, body_encoded: encoded }: z.infer<typeof entrySchema>): RecordedCall[] {
  const header = (name: string): string =>
    Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? "";
  const scope = /Credential=[^/]+\/\d+\/([^/]+)\/([^/]+)\//.exec(header("authorization"));
  if (scope === null || !/aws-sdk-go/.test(header("user-agent"))) return [];
  const [, region = "", service = ""] = scope;
  const date = header("x-amz-date").replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z");
  const sentMs = Date.parse(date);
  const text = body === null ? "" : encoded ? Buffer.from(body, "base64").toString("utf8") : body;
  const call = (operation: string, parameters: Readonly<Record<string, string>>): RecordedCall[] => [
    { service, operation, region, sentMs, parameters },
  ];
  const target = header("x-amz-target");
  if (target !== "") {
    const parameters = Object.entries(JSON.parse(text) as object).map(([key, value]): [string, string] => [
      key,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
    return call(target.split(".").at(-1) ?? "", Object.fromEntries(parameters));
  }
  const cluster = /\/clusters\/([^/?]+)$/.exec(url)?.[1];
  if (service === "eks" && method === "GET" && cluster !== undefined) return call("DescribeCluster", { name: cluster });
  const { Action, ...parameters } = Object.fromEntries(new URLSearchParams(text));
  if (Action === undefined) throw new Error(`${method} ${url} is a call that is not understood`);
  return call(Action, parameters);
}

export function listOf(parameters: RecordedCall["parameters"], name: string): string[] {
  const values: string[] = [];
  for (let index = 1; ; index++) {
    const value = parameters[`${name}.${index}`];
    if (value === undefined) return values;
    values.push(value);
  }
}

export function objectsOf(parameters: RecordedCall["parameters"], name: string): RecordedCall["parameters"][] {
  const objects: Record<string, string>[] = [];
  for (const [key, value] of Object.entries(parameters)) {
    const [, index = "", rest = ""] = key.startsWith(`${name}.`)
      ? (/^(\d+)\.(.*)$/.exec(key.slice(name.length + 1)) ?? [])
      : [];
    if (index !== "") (objects[Number(index) - 1] ??= {})[rest] = value;
  }
  return objects;
}

export function tagsOf(parameters: RecordedCall["parameters"], name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(objectsOf(parameters, name).map(({ Key = "", Value = "" }) => [Key, Value]));
}
