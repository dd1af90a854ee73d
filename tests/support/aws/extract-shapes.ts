/**
 * Writes `shapes.json` from botocore's models, for the calls of `pulumi-inputs.ts`:
 *
 *     pip download --no-deps botocore && unzip -q botocore-*.whl -d DIRECTORY
 *     node --import tsx tests/support/aws/extract-shapes.ts DIRECTORY
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { z } from "zod";
import { DOCUMENTED } from "./documented-limits";
import { PULUMI_INPUTS } from "./pulumi-inputs";
import type { Extract, Reference, Shape } from "./shapes";

const rawReference = z.object({ shape: z.string(), documentation: z.string().optional() });
const rawShape = z.object({
  type: z.string(),
  documentation: z.string().optional(),
  required: z.array(z.string()).optional(),
  members: z.record(z.string(), rawReference).optional(),
  member: rawReference.optional(),
  key: rawReference.optional(),
  value: rawReference.optional(),
  enum: z.array(z.string()).optional(),
  pattern: z.string().optional(),
  min: z.number().optional(),
  max: z.number().optional(),
});
const rawModel = z.object({
  metadata: z.object({ apiVersion: z.string() }),
  operations: z.record(z.string(), z.object({ input: rawReference.optional() })),
  shapes: z.record(z.string(), rawShape),
});
type RawModel = z.infer<typeof rawModel>;

function modelOf(directory: string, service: string): RawModel {
  const folder = join(directory, "botocore", "data", service);
  const latest = readdirSync(folder).sort().at(-1) ?? "";
  return rawModel.parse(JSON.parse(gunzipSync(readFileSync(join(folder, latest, "service-2.json.gz"))).toString()));
}

function callsIn(value: unknown): string[] {
  if (typeof value === "string") return /^[a-z0-9]+\.[A-Z]\w+/.exec(value)?.slice() ?? [];
  if (typeof value === "function") return callsIn((value as (name: string) => unknown)("one"));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => [...callsIn(key), ...(key === "as" ? [] : callsIn(each))]);
}
const CALLS = new Map<string, Set<string>>();
for (const call of callsIn(PULUMI_INPUTS).sort()) {
  const [service = "", operation = ""] = call.split(".");
  CALLS.set(service, (CALLS.get(service) ?? new Set()).add(operation));
}

const read = new Set<string>();

/** Limits that only the documentation states of a member. @throws where it states them no longer */
function documentedLimits(service: string, place: string, text: string): Partial<Reference> {
  const reader = DOCUMENTED[`${service}.${place}`];
  if (reader === undefined) return {};
  read.add(`${service}.${place}`);
  const limits = reader(text.replace(/<[^>]+>/g, "").replace(/\s+/g, " "));
  if (limits === undefined) throw new Error(`the documentation of ${service}.${place} reads otherwise:\n${text}`);
  return limits;
}

function extractService(service: string, model: RawModel, calls: readonly string[]): Extract["services"][string] {
  const shapes: Record<string, Shape> = {};
  const reference = (
    owner: string,
    key: string,
    { shape, documentation = "" }: z.infer<typeof rawReference>,
  ): Reference => {
    visit(shape);
    const stated = documentation === "" ? (model.shapes[shape]?.documentation ?? "") : documentation;
    return { shape, ...documentedLimits(service, `${owner}.${key}`, stated) };
  };
  function visit(name: string): void {
    if (shapes[name] !== undefined) return;
    const raw = model.shapes[name];
    if (raw === undefined) throw new Error(`${service} has no ${name}`);
    const shape = { type: raw.type } as Shape;
    shapes[name] = shape;
    for (const key of ["required", "enum", "pattern", "min", "max"] as const)
      if (raw[key] !== undefined) Object.assign(shape, { [key]: raw[key] });
    if (raw.members !== undefined)
      shape.members = Object.fromEntries(
        Object.entries(raw.members).map(([key, member]) => [key, reference(name, key, member)]),
      );
    for (const key of ["member", "key", "value"] as const) {
      const one = raw[key];
      if (one !== undefined) shape[key] = reference(name, key, one);
    }
  }
  const operations = Object.fromEntries(
    calls.map((call) => {
      const input = model.operations[call]?.input?.shape;
      if (input === undefined) throw new Error(`${service} has no ${call}`);
      visit(input);
      return [call, input];
    }),
  );
  return { version: model.metadata.apiVersion, operations, shapes };
}

/** One line per shape, so that a change can be read. */
function write({ source, services }: Extract): string {
  const lines = Object.entries(services).map(([service, { version, operations, shapes }]) => {
    const each = Object.entries(shapes).map(([name, shape]) => `   ${JSON.stringify(name)}:${JSON.stringify(shape)}`);
    return (
      ` ${JSON.stringify(service)}:{"version":${JSON.stringify(version)},\n  "operations":${JSON.stringify(operations)},\n` +
      `  "shapes":{\n${each.join(",\n")}}}`
    );
  });
  return `{"source":${JSON.stringify(source)},"services":{\n${lines.join(",\n")}}}\n`;
}

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error("usage: extract-shapes.ts DIRECTORY");
const info = readdirSync(directory).find((name) => /^botocore-.*\.dist-info$/.test(name));
if (info === undefined) throw new Error(`${directory} holds no unpacked wheel of botocore`);
const metadata = readFileSync(join(directory, info, "METADATA"), "utf8");
const field = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(metadata)?.[1] ?? "";
const services = Object.fromEntries(
  [...CALLS].map(([service, calls]) => [service, extractService(service, modelOf(directory, service), [...calls])]),
);
const unread = Object.keys(DOCUMENTED).filter((place) => !read.has(place));
if (unread.length > 0) throw new Error(`no such members: ${unread.join(", ")}`);
writeFileSync(
  join(__dirname, "shapes.json"),
  write({
    source: { package: "botocore (PyPI)", version: field("Version"), licence: field("License(?:-Expression)?") },
    services,
  }),
);
