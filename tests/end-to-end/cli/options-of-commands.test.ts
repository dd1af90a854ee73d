/** Every option that a command declares changes its outcome on real servers, or is refused. Load: tests/cli/running/options-matter. */
import { join } from "node:path";
import type { Command, Option } from "commander";
import { afterAll, beforeAll, expect, it } from "vitest";
import { commandLine } from "../../../cli/cli";
import { buildProgram } from "../../../cli/program";
import { Interrupted } from "../../../lib/errors";
import type { Deployment } from "../../../valkey/deployment";
import { captured } from "../../support/captured";
import { Place, SHORT } from "../../support/command";
import { useSandbox } from "../../support/valkey/hooks";
import { never, passwordOf, serverOptions, valkeyHome } from "../../support/valkey/real";
import { startTlsServer } from "../../support/valkey/tls-server";

const sandbox = useSandbox();
const place = new Place();
let shop: Deployment | undefined;
let [kept, withTls, trusted]: [string, readonly string[], readonly string[]] = ["", [], []];
beforeAll(async () => {
  shop = await sandbox.formedReplication("shop", 1);
  const { output, status } = await place.run(["run", ...SHORT, "--keep-runner", "--output", place.output()]);
  expect(status, output).toBe(0);
  kept = /^ .* stop (\S+)$/m.exec(output)?.[1] ?? "";
  const { port, certificate } = await startTlsServer(sandbox, join(place.directory, "tls"));
  withTls = ["--mode", "replication", "--replicas", "0", "--node", `localhost:${port}=a`];
  trusted = [...withTls, "--cacert", certificate];
  const archived = await place.call(["archive", ...servers(), "--into", archive, "--for", "3s"], passwordOf(shop));
  expect(archived.status, archived.output).toBe(0);
}, 120_000);
afterAll(() => place.close());

const servers = (): readonly string[] => (shop === undefined ? [] : serverOptions(shop));
let folders = 0;
const folder = (): string => place.output(`folder-${++folders}`);
/** Those of TLS take 10 s each on servers without TLS. */
const NOT_OF_TLS = /^--(?!tls|insecure|cacert|sni)/;
const archive = place.output("archive");
const empty = (): readonly string[] => ["--output", place.output("empty")];
const LONG_AGO = ["--at", "1999-01-01T00:00:00Z"];
/** Words to which each option of the command is added. Later ones use what earlier ones made. */
const CONTEXTS: Readonly<Record<string, { readonly words: () => readonly string[]; readonly only?: RegExp }>> = {
  plan: { words: () => ["plan", "local"] },
  verify: { words: () => ["verify", ...servers()], only: NOT_OF_TLS },
  "verify servers that have TLS": { words: () => ["verify", ...withTls], only: /tls|insecure|cacert|sni/ },
  "verify with TLS and without a password": { words: () => ["verify", ...trusted], only: /user|sni|cert$|key/ },
  "verify a run": { words: () => ["verify", kept] },
  "status of a run": { words: () => ["status", kept] },
  watch: { words: () => ["watch", ...servers()], only: NOT_OF_TLS },
  "watch a run": { words: () => ["watch", kept] },
  // Its verification fails, so nothing is measured.
  measure: {
    words: () => ["measure", ...servers(), "--replicas", "2", "--output", folder()],
    only: NOT_OF_TLS,
  },
  "measure servers that have TLS": {
    words: () => ["measure", ...withTls, ...SHORT, "--output", folder()],
    only: /tls|insecure|cacert|sni/,
  },
  // These are refused for something else, and start nothing.
  run: { words: () => ["run", "kind"] },
  capacity: { words: () => ["capacity", "local"] },
  study: { words: () => ["study", "topologies", "--resume", ...empty()] },
  soak: { words: () => ["soak", "failures", "--resume", ...empty()] },
  "break with --plan": { words: () => ["break", "failures", "--plan"], only: /^--(?!plan)/ },
  "archive a run": {
    words: () => ["archive", kept, "--deployment", "replication", "--into", folder(), "--for", "0.01s"],
  },
  archive: { words: () => ["archive", ...servers(), "--into", folder(), "--for", "0.01s"], only: NOT_OF_TLS },
  backups: { words: () => ["backups", archive] },
  restore: { words: () => ["restore", archive, "--into", "local", ...LONG_AGO] },
  "restore into servers": {
    words: () => ["restore", archive, "--replay-into", ...LONG_AGO, ...servers()],
    only: /^--(into|shards|replicas|check|deployment|stack|mode|nodes|cert|key|ttl|endpoint|region|encryption|path)/,
  },
  compare: { words: () => ["compare", place.output(), place.output()] },
  recommend: { words: () => ["recommend", place.output(), "--rate", "1000", "--working-set", "1gb"] },
  stop: { words: () => ["stop"] },
};
/** Options whose effect those tests show. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  "tests/end-to-end/cli/left-behind": ["measure --overwrite"],
  "tests/end-to-end/cli/run": ["run --keep"],
  // Keeps the run of these tests.
  "tests/end-to-end/cli/options-of-commands": ["run --keep-runner"],
  "tests/end-to-end/benchmarks/study": ["study --resume"],
  "tests/end-to-end/benchmarks/soak": ["soak --resume", "soak --output"],
  "tests/end-to-end/cli/backup": ["restore --check", "archive --spool"],
  "tests/end-to-end/cli/replay": ["restore --overwrite"],
};
/** Values that differ from all defaults, or wrong ones where the effect of a right one takes long. */
const VALUES: Readonly<Record<string, string>> = {
  ...{ "--set": "benchmark.repeats=5", "--mode": "other", "--node": "127.0.0.1:1=a", "--nodes": "/none" },
  ...{ "--user": "nobody", "--primaries": "2", "--replicas": "12", "--without": "zones", "--cacert": "/none" },
  ...{
    "--cert": "/none",
    "--key": "/none",
    "--sni": "other",
    "--every": "0",
    "--metrics": "0",
    "--rate": "0",
    "break --rate": "7",
    "archive --node": "x",
  },
  ...{ "--scenario": "kill-zone", "--repeats": "7", "--output": "there", "--endpoint": "http://127.0.0.1:1" },
  ...{ "--region": "mars", "--encryption": "AES256", "--into": "", "--spool": "/proc/none", "--base-every": "1s" },
  ...{ "--keep": "x", "--for": "x", "--deployment": "none", "--at": "x", "--shards": "0", "--keys": "", "--ttl": "x" },
  ...{ "--stack": "none", "--precision": "2", "--reads": "7", "--working-set": "x", "--value-size": "0" },
  ...{ "--pipeline": "0", "--p99": "0", "--objective": "x", "--initial-rate": "0", "--max-rate": "0" },
  ...{ "--confirmations": "0", "--duration": "1h", "--window": "60s", "--keyspace-len": "7", "--datasize": "7" },
  ...{ "--max-disk": "1gb", "--budget": "0", "--seed": "-1" },
};

async function outcomeOf(base: () => readonly string[], more: readonly string[]): Promise<string> {
  const words = base();
  const controller = new AbortController();
  const stop = (): void => {
    controller.abort(new Interrupted("SIGINT"));
  };
  const late = setTimeout(stop, words[0] === "watch" ? 700 : 60_000);
  const environment = { VALKEY_HOME: await valkeyHome(), VALKEY_MEASURED_CACHE: place.directory };
  const password =
    shop === undefined || words.some((word) => word.startsWith("localhost:"))
      ? { VALKEY_PASSWORD: "" }
      : passwordOf(shop);
  const call = (): Promise<number> => commandLine([...words, ...more], controller.signal);
  const { status, output } = await captured({ ...environment, ...password }, call);
  clearTimeout(late);
  expect(output).not.toContain("Internal error");
  // Names of folders, times, sizes and offsets differ from call to call, and so does the order of deployments.
  const lines = output.replaceAll(/folder-\d+/g, "folder").split("\n");
  const same = lines.map((line) => line.replaceAll(/\S*\d\S*:\d\S*|\d[\d.,]*\s?(ms|s|min|h|[KMG]i?B|B|bytes)\b/g, "#"));
  return `${status} ${same.sort().join("\n")}`;
}

const { commands } = buildProgram(never, () => undefined);
const nameIn = (what: string): string => what.split(" ")[0] ?? "";
/** Without those of the load. */
const optionsOf = (command: Command | undefined): readonly Option[] =>
  (command?.options ?? []).filter(({ helpGroupHeading = "" }) => !/Load|workload/.test(helpGroupHeading));
const wordsOf = (command: string, { long, required }: Option): string[] => {
  const value = VALUES[`${command} ${long}`] ?? VALUES[`${long}`] ?? "";
  return [`${long}`, ...(required ? [value] : [])];
};

it("is tried for all commands", () => {
  const tried = Object.entries(CONTEXTS).map(([what, { only = /./ }]) => ({ name: nameIn(what), only }));
  const untried = commands.flatMap((command) =>
    optionsOf(command).flatMap(({ long }) =>
      tried.some(({ name, only }) => name === command.name() && only.test(`${long}`))
        ? []
        : [`${command.name()} ${long}`],
    ),
  );
  expect(untried).toEqual(["break --plan"]);
});

it.each(Object.entries(CONTEXTS))(
  "%s",
  async (what, { words, only = /./ }) => {
    const name = nameIn(what);
    const before = await outcomeOf(words, []);
    expect(await outcomeOf(words, []), "it differs from call to call").toBe(before);
    const elsewhere = Object.values(ELSEWHERE).flat();
    const options = optionsOf(commands.find((command) => command.name() === name));
    const tried = options.filter(({ long }) => only.test(`${long}`) && !elsewhere.includes(`${name} ${long}`));
    const ignored: string[] = [];
    for (const option of tried)
      if ((await outcomeOf(words, wordsOf(name, option))) === before) ignored.push(wordsOf(name, option).join(" "));
    expect(ignored, before).toEqual([]);
  },
  180_000,
);
