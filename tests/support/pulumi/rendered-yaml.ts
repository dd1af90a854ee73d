/**
 * A program's resources as YAML that a person reviews: every resource with its inputs and options, in the order of their
 * declaration. Secrets are `[secret]`. Scripts are the names of their files, programs are `[program]`, other long texts
 * are their digest, and what the file has shown before is a reference.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { checksum } from "../../../lib/checksum";
import { ROOT } from "../../../lib/system/package";
import { type DeclaredResource, resourceKey } from "./declared-resources";

const SCRIPTS = "components/kubernetes/scripts";
const WIDTH = 175;
/** Length in characters. A longer text is shown as its digest, unless it is a file of the repository. */
const LONG_TEXT = 2000;
/** Characters, as JSON, from which a value that was shown before is a reference. */
const REPEATED = 150;

/** Inputs that a type has by itself, and the version of this package. */
const LEFT_OUT: ReadonlySet<string> = new Set(["apiVersion", "kind", "packageVersion"]);
/** Options that resources of an SDK have by themselves, and those that stand beside the others. */
const OTHER_OPTIONS: ReadonlySet<string> = new Set([
  ...[
    "additionalSecretOutputs",
    "aliases",
    "dependsOn",
    "id",
    "parent",
    "provider",
    "providers",
    "transforms",
    "version",
  ],
]);

const files = new Map(
  readdirSync(join(ROOT, SCRIPTS)).map((name) => [readFileSync(join(ROOT, SCRIPTS, name), "utf8"), name]),
);

type Plain = string | number | boolean | null | undefined | readonly Plain[] | { readonly [key: string]: Plain };

/** Resources by `TYPE NAME`, as plain values without secrets and without what differs from one machine to the next. */
export function plainResources(resources: readonly DeclaredResource[]): Map<string, Record<string, Plain>> {
  // A ConfigMap with a program has a digest of the program in its name.
  const programs = resources.flatMap(({ inputs }) =>
    "binaryData" in inputs ? [(inputs["metadata"] as { readonly name: string }).name] : [],
  );
  const shown = (text: string): string => {
    const file = files.get(text);
    if (file !== undefined) return `[${SCRIPTS}/${file}]`;
    const named = programs.reduce((all, name) => all.replaceAll(name, name.replace(/[0-9a-f]+$/, "[digest]")), text);
    return named.length < LONG_TEXT
      ? named.replaceAll(ROOT, "[project]")
      : `[${text.length} characters, digest ${checksum(text).slice(0, 12)}]`;
  };
  const plain = (value: unknown, path: string, secrets: ReadonlySet<string>): Plain => {
    if (secrets.has(path)) return hidden(value);
    const at = (key: string | number): string => (path === "" ? String(key) : `${path}.${key}`);
    if (typeof value === "string") return shown(value);
    if (Array.isArray(value)) return value.map((each, index) => plain(each, at(index), secrets));
    if (value === null || typeof value !== "object") return value as Plain;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, each]): [string, Plain][] => {
        if (each === undefined || (path === "" && LEFT_OUT.has(key))) return [];
        if (key === "binaryData") return [[key, "[program]"]];
        const parsed = typeof each === "string" && !secrets.has(at(key)) ? parsedJson(each) : undefined;
        return [
          parsed === undefined
            ? [key, plain(each, at(key), secrets)]
            : [`${key} (JSON)`, plain(parsed, at(key), secrets)],
        ];
      }),
    );
  };
  return new Map(
    resources.map((resource) => {
      const { inputs, secrets, parent, dependsOn, options } = resource;
      const shownInputs = plain(inputs, "", new Set(secrets)) as Record<string, Plain>;
      return [
        resourceKey(resource),
        {
          ...(parent === undefined ? {} : { parent }),
          ...(dependsOn.length === 0 ? {} : { dependsOn }),
          ...(resource.provider === undefined ? {} : { provider: resource.provider }),
          ...shownOptions(options as Readonly<Record<string, unknown>>),
          ...(Object.keys(shownInputs).length === 0 ? {} : { inputs: shownInputs }),
        },
      ];
    }),
  );
}

function shownOptions(options: Readonly<Record<string, unknown>>): Record<string, Plain> {
  const { transforms } = options;
  const kept = Object.entries(options).filter(
    ([key, value]) => !OTHER_OPTIONS.has(key) && value !== undefined && value !== false,
  );
  return {
    ...(Array.isArray(transforms) && transforms.length > 0 ? { transforms: transforms.length } : {}),
    ...(kept.length === 0 ? {} : { options: Object.fromEntries(kept) as Record<string, Plain> }),
  };
}

function hidden(value: unknown): Plain {
  if (Array.isArray(value)) return value.map(hidden);
  if (value === null || typeof value !== "object") return "[secret]";
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, hidden(each)]));
}

function parsedJson(text: string): object | undefined {
  if (!/^[[{]/.test(text)) return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null && text.length < 20_000 ? value : undefined;
  } catch {
    return undefined;
  }
}

export function renderedYaml(title: string, values: ReadonlyMap<string, Plain>): string {
  const seen = new Map<string, string>();
  const lines = [...values].flatMap(([key, value]) => ["", ...entry(key, withReferences(value, key, "", seen), "")]);
  return [`# ${title}`, ...lines, ""].join("\n");
}

function withReferences(value: Plain, resource: string, path: string, seen: Map<string, string>): Plain {
  if (value === null || typeof value !== "object") return value;
  const text = JSON.stringify(value);
  if (text.length >= REPEATED && path !== "" && path !== "dependsOn") {
    const before = seen.get(text);
    if (before !== undefined) return `[as in ${before}]`;
    seen.set(text, `${resource}: ${path}`);
  }
  const at = (key: string | number): string => (path === "" || path === "inputs" ? String(key) : `${path}.${key}`);
  return Array.isArray(value)
    ? value.map((each: Plain, index) => withReferences(each, resource, at(index), seen))
    : Object.fromEntries(
        Object.entries(value).map(([key, each]) => [key, withReferences(each, resource, at(key), seen)]),
      );
}

/** Lines of a key and its value: in one line where they fit. */
function entry(key: string, value: Plain, indent: string): string[] {
  const start = `${indent}${scalar(key)}:`;
  const text = inline(value);
  if (text !== undefined && start.length + text.length < WIDTH) return [`${start} ${text}`];
  if (typeof value === "string" && value.includes("\n")) {
    const end = /\n*$/.exec(value)?.[0].length ?? 0;
    const rows = value.replace(/\n+$/, "").split("\n");
    return [
      `${start} ${end === 0 ? "|-" : end === 1 ? "|" : "|+"}`,
      ...rows.map((row) => (row === "" ? "" : `${indent}  ${row}`)),
    ];
  }
  if (Array.isArray(value) && value.every((each) => typeof each === "string" && each.length < 90))
    return wrapped(start, value, indent);
  if (Array.isArray(value)) return [start, ...value.flatMap((each: Plain) => item(each, indent))];
  if (value !== null && typeof value === "object")
    return [start, ...Object.entries(value).flatMap(([inner, each]) => entry(inner, each, `${indent}  `))];
  return [`${start} ${text ?? ""}`];
}

function item(value: Plain, indent: string): string[] {
  const text = inline(value);
  if (text !== undefined && indent.length + text.length < WIDTH) return [`${indent}- ${text}`];
  const [first = "", ...others] =
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? Object.entries(value).flatMap(([key, each]) => entry(key, each, `${indent}  `))
      : [`${indent}  ${text ?? JSON.stringify(value)}`];
  return [`${indent}- ${first.slice(indent.length + 2)}`, ...others];
}

function wrapped(start: string, texts: readonly string[], indent: string): string[] {
  const lines = [`${start} [`];
  for (const [index, text] of texts.entries()) {
    const part = `${scalar(text)}${index === texts.length - 1 ? "]" : ","}`;
    const line = lines.at(-1) ?? "";
    if (line.length + part.length < WIDTH)
      lines[lines.length - 1] = line.endsWith("[") ? line + part : `${line} ${part}`;
    else lines.push(`${indent}    ${part}`);
  }
  return lines;
}

/** The value in one line; undefined for a text of several lines. */
function inline(value: Plain): string | undefined {
  if (typeof value === "string" && value.includes("\n") && value.length > 80) return undefined;
  if (value === null || typeof value !== "object") return scalar(value);
  const parts = Array.isArray(value)
    ? value.map((each: Plain) => inline(each))
    : Object.entries(value).map(([key, each]) => {
        const text = inline(each);
        return text === undefined ? undefined : `${scalar(key)}: ${text}`;
      });
  if (parts.includes(undefined)) return undefined;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{ ", " }"];
  return parts.length === 0 ? (Array.isArray(value) ? "[]" : "{}") : `${open}${parts.join(", ")}${close}`;
}

function scalar(value: string | number | boolean | null | undefined): string {
  if (typeof value !== "string") return String(value);
  if (/^\[[^"\\]*\]$/.test(value)) return `"${value}"`;
  return /[,[\]{}\n]/.test(value)
    ? JSON.stringify(value)
    : stringify(value, { lineWidth: 0, defaultStringType: "PLAIN" }).trimEnd();
}

/**
 * Differences between two states of a program: `old → new` by path, `+` for parts that are new and `-` for those that are
 * gone, by the keys of the resources that differ in the same way. Of whole resources it says only that they are new or gone.
 */
export function changedPaths(
  before: ReadonlyMap<string, Plain>,
  after: ReadonlyMap<string, Plain>,
): { readonly [key: string]: Plain } {
  const groups = new Map<string, { readonly keys: string[]; readonly changes: Plain }>();
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(key), after.get(key)];
    const changes: Plain =
      old === undefined ? "new" : now === undefined ? "gone" : Object.fromEntries(differences(old, now, ""));
    if (typeof changes === "object" && Object.keys(changes).length === 0) continue;
    const id = JSON.stringify(changes);
    const group = groups.get(id) ?? { keys: [], changes };
    groups.set(id, group);
    group.keys.push(key);
  }
  return Object.fromEntries([...groups.values()].map(({ keys, changes }) => [keys.join(" | "), changes]));
}

function differences(old: Plain, now: Plain, path: string): [string, Plain][] {
  if (JSON.stringify(old) === JSON.stringify(now)) return [];
  if (isMap(old) && isMap(now))
    return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((key) => {
      const inner = path === "" && key === "inputs" ? "" : path === "" ? key : `${path}.${key}`;
      return differences(old[key], now[key], inner);
    });
  if (Array.isArray(old) && Array.isArray(now) && old.length === now.length)
    return old.flatMap((each: Plain, index) => differences(each, now[index] as Plain, `${path}.${index}`));
  if (old === undefined) return [[`+ ${path}`, now]];
  if (now === undefined) return [[`- ${path}`, old]];
  if (Array.isArray(old) && Array.isArray(now)) return listDifferences(old, now, path);
  if (typeof old === "string" && typeof now === "string" && `${old}${now}`.includes("\n"))
    return listDifferences(old.split("\n"), now.split("\n"), path);
  return [[path, typeof old === "object" || typeof now === "object" ? now : `${String(old)} → ${String(now)}`]];
}

function listDifferences(old: readonly Plain[], now: readonly Plain[], path: string): [string, Plain][] {
  const without = (all: readonly Plain[], others: readonly Plain[]): Plain[] => {
    const texts = new Set(others.map((each) => JSON.stringify(each)));
    return all.filter((each) => !texts.has(JSON.stringify(each)));
  };
  const [gone, added] = [without(old, now), without(now, old)];
  if (gone.length === 0 && added.length === 0) return [[path, [...now]]];
  return [
    ...(gone.length === 0 ? [] : [[`- ${path}`, gone] as [string, Plain]]),
    ...(added.length === 0 ? [] : [[`+ ${path}`, added] as [string, Plain]]),
  ];
}

const isMap = (value: Plain): value is { readonly [key: string]: Plain } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
