/** Checks that the upstream chart can be fetched from its configured source, before anything is created. */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { codeOf, messageOf } from "../../../lib/errors";

const NAME = "valkey";
const REPOSITORY = "https://valkey.io/valkey-helm/";
const MAX_VERSIONS = 5;
/** How long a repository may take to answer, milliseconds. */
const ANSWER_TIMEOUT_MS = 15_000;
/**
 * Errors of a connection that fail for Helm too. Certificate errors may be Node's alone: Helm trusts other authorities.
 */
const UNREACHABLE: readonly string[] = [
  "ENOTFOUND",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
];
/** Helm uses these proxies, Node does not. */
const PROXIES = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"];

const indexSchema = z.object({ entries: z.record(z.string(), z.array(z.object({ version: z.string() }))) });

/**
 * A relative path begins at the program's directory, as for Pulumi's plugins.
 * @returns a sentence per problem, beginning with the key of the configuration
 */
export async function chartProblems(source: ChartSource): Promise<string[]> {
  if (source.from === "path") return pathProblems(source.path);
  if (PROXIES.some((name) => (process.env[name] ?? "") !== "")) return [];
  const { url, version } = source;
  const asked =
    source.from === "oci"
      ? `https://${url.slice("oci://".length).split("/")[0] ?? ""}/v2/`
      : `${url.replace(/\/$/, "")}/index.yaml`;
  const answer = await ask(asked);
  if (answer === undefined) return [];
  const elsewhere =
    `name a source that this machine reaches: a copy (helm pull ${NAME} --repo ${REPOSITORY} --version ${version}) ` +
    `by chart: { from: path, path: … }, or a registry's by { from: oci, url: oci://…, version: ${version} }`;
  if ("why" in answer) return [`chart: ${asked} cannot be fetched (${answer.why}); ${elsewhere}`];
  // A registry answers other requests only after authentication.
  if (source.from === "oci") return [];
  if (answer.status >= 400) return [`chart: ${asked} cannot be fetched (HTTP status ${answer.status}); ${elsewhere}`];
  const index = indexSchema.safeParse(readYaml(answer.text));
  if (!index.success) return [`chart: ${asked} is not the index of a chart repository; ${elsewhere}`];
  const versions = (index.data.entries[NAME] ?? []).map((each) => each.version);
  if (versions.length === 0) return [`chart.url: ${url} has no chart ${NAME}; ${elsewhere}`];
  return versions.includes(version)
    ? []
    : [
        `chart.version: ${url} has no ${NAME} ${version}; there are ${versions.slice(0, MAX_VERSIONS).join(", ")}${versions.length > MAX_VERSIONS ? " …" : ""}`,
      ];
}

function pathProblems(told: string): string[] {
  const path = resolve(told);
  const copy = `make a copy by helm pull ${NAME} --repo ${REPOSITORY} --untar`;
  if (!existsSync(path)) return [`chart.path: ${path} does not exist; ${copy}`];
  return statSync(path).isDirectory() && !existsSync(join(path, "Chart.yaml"))
    ? [`chart.path: ${path} is not a chart: Chart.yaml is missing; ${copy}`]
    : [];
}

/** @returns undefined where Helm may succeed although Node does not */
async function ask(
  url: string,
): Promise<{ readonly status: number; readonly text: string } | { readonly why: string } | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError")
      return { why: `no answer within ${ANSWER_TIMEOUT_MS / 1000} s` };
    const cause = error instanceof Error ? error.cause : undefined;
    return UNREACHABLE.includes(codeOf(cause) ?? "") ? { why: messageOf(cause) || (codeOf(cause) ?? "") } : undefined;
  }
}

function readYaml(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** Source of the chart. */
export type ChartSource =
  | { readonly from: "repository"; readonly url: string; readonly version: string }
  /** `oci://REGISTRY/PATH` */
  | { readonly from: "oci"; readonly url: string; readonly version: string }
  /** A directory or an archive on this machine, for networks without either. */
  | { readonly from: "path"; readonly path: string };
