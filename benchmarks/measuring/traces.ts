/**
 * Things that a measurement makes on servers that outlive it: a user, and keys, which a mark names for a later run.
 * They are removed over new connections: by then, a failover has ended the old ones, and other nodes may be the
 * primaries.
 */
import calculateSlot from "cluster-key-slot";
import { z } from "zod";
import { compact } from "../../lib/compact";
import { BadInput, Failure, messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";
import { pause } from "../../lib/polling";
import { remainders } from "../../lib/system/remainders";
import type { Connection } from "../../valkey/connection";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode } from "../../valkey/node";
import { SLOT_COUNT, subtractRanges } from "../../valkey/topology/slots";
import type { Shard } from "../../valkey/verification/shards";
import type { BenchmarkUser } from "../load/benchmark-user";
import { createBenchmarkUser, isForbidden, isRunAlive, newRunName, usersOfRuns } from "../load/benchmark-user";
import { type KeyNames, type NeededKeys, keyNames } from "../workloads/key-slices";
import { type PrimaryNode, countKeys, removeKeys } from "../workloads/prefill";
import { type CurrentNodes, withCurrentNodes } from "./current-nodes";
import { type UncleanedNode, removalCommands } from "./removal-commands";

export const MARK = "valkey-measured-keys";
const MARK_SLOT = calculateSlot(MARK);

const markSchema = z.object({
  run: z.string(),
  /** Time at which the run wrote its first keys, ISO 8601. */
  at: z.string(),
  keys: z.array(z.object({ family: z.string(), count: z.int().nullable(), isUntagged: z.boolean() })),
});
type Mark = z.infer<typeof markSchema>;

/** Milliseconds of refused removals. With default settings, a cluster replaces a lost primary within 20 s. */
const REMOVAL_LIMIT_MS = 30_000;
const RETRY_MS = 500;

export class Traces {
  #user: Promise<BenchmarkUser> | undefined;
  readonly #keys = new Map<string, KeyNames>();
  readonly #withUser = new Set<string>();
  readonly #run = newRunName();
  readonly #at = new Date().toISOString();
  readonly notices: string[] = [];

  private constructor(
    private readonly deployment: Deployment,
    /** Primaries at the start of the measurement; undefined if the keys of the measurement stay. */
    private readonly primariesAtStart: readonly string[] | undefined,
  ) {}

  /** Traces on servers of this project's own deployments, on which only the user is removed. */
  static onOwnServers(deployment: Deployment): Traces {
    return new Traces(deployment, undefined);
  }

  /**
   * Starts nothing, so a measurement calls it first.
   * @param overwrite also removes keys that an earlier run left
   * @throws BadInput if keys exist or another measurement uses the servers; Failure if keys cannot be removed
   */
  static async onServersOfOthers(
    { deployment, shards }: { readonly deployment: Deployment; readonly shards: readonly Shard[] },
    planned: readonly NeededKeys[],
    overwrite: boolean,
  ): Promise<Traces> {
    const traces = new Traces(deployment, compact(shards.map(({ primary }) => primary)));
    const names = new Map(planned.map((keys) => traces.#named(keys)));
    try {
      const left = await withCurrentNodes(deployment, async (current) => {
        const users = await traces.#findUsers(current);
        const mark = await readMark(current.primaries);
        if (mark !== undefined) refuseMarked(deployment, current.primaries, users, mark, overwrite);
        if (!overwrite) await refuseExisting(deployment, current.primaries, [...names.values()]);
        return mark;
      });
      if (left !== undefined) await traces.#removeLeft(left);
      return traces;
    } catch (error) {
      throw withNotices(error, traces.notices);
    }
  }

  /** @returns the users of measurements on each node */
  async #findUsers({ replying }: CurrentNodes): Promise<NodeUsers[]> {
    const found: NodeUsers[] = [];
    for (const { node, connection } of replying) {
      const users = await usersOfRuns(connection);
      found.push({ node, users });
      for (const user of users.filter((each) => isRunAlive(each) === undefined))
        this.notices.push(
          `${node.name} has the user ${user} of a measurement from another machine; if that measurement has ended, ` +
            `remove the user: ACL DELUSER ${user}`,
        );
    }
    return found;
  }

  /** Every further call returns the same user. */
  user(nodes: readonly { readonly name: string; readonly connection: Connection }[]): Promise<BenchmarkUser> {
    remainders.add(this.#remainder);
    this.#user ??= createBenchmarkUser(nodes, this.#run, this.#withUser);
    return this.#user;
  }

  /** @throws Failure if another measurement has marked its keys in the meantime */
  async addKeys(keys: NeededKeys, primaries: readonly PrimaryNode[]): Promise<void> {
    if (this.primariesAtStart === undefined) return;
    const [id, names] = this.#named(keys);
    if (this.#keys.has(id)) return;
    const isFirst = this.#keys.size === 0;
    const mark: Mark = { run: this.#run, at: this.#at, keys: [...this.#keys.values(), names] };
    const server = primaries.find(servesMark);
    remainders.add(this.#remainder);
    // They count from now on, because a write without a reply can have happened.
    this.#keys.set(id, names);
    const words = [MARK, JSON.stringify(mark), ...(isFirst ? ["NX"] : [])] as const;
    const reply = await server?.connection.call("SET", ...words).catch((error: unknown) => {
      throw new Failure(`${server.name} does not store ${MARK}: ${messageOf(error)}`, { cause: error });
    });
    if (reply === "OK") return;
    this.#keys.delete(id);
    throw new Failure(`${this.deployment.name}: another measurement has just begun to write keys (${MARK})`);
  }

  /**
   * Keys count as removed when a new look at the primaries finds none.
   * @param limitMs time during which nodes may refuse, milliseconds; with 0, each node is tried once
   * @returns the lines that say what remains and how to remove it
   */
  async remove(report: ReportProgress = () => undefined, limitMs = REMOVAL_LIMIT_MS): Promise<string[]> {
    if (this.#user === undefined && this.#keys.size === 0) return [];
    remainders.add(this.#remainder);
    await this.#user?.catch(() => undefined);
    const deadline = performance.now() + limitMs;
    let said = "";
    for (;;) {
      const { removed, uncleaned } = await withCurrentNodes(this.deployment, (current) => this.#removeOnce(current));
      const isFinal = removed === 0 && uncleaned.every(({ why }) => isForbidden(why));
      const isLate = isFinal || performance.now() >= deadline;
      if (isLate) {
        if (uncleaned.length === 0) remainders.delete(this.#remainder);
        return this.#commands(uncleaned);
      }
      if (uncleaned.length === 0) continue;
      const waiting = uncleaned.map(({ node, why }) => `${node.name}: ${why}`).join("; ");
      if (waiting !== said) report(`removing users and keys, tried again: ${waiting}`);
      said = waiting;
      await pause(RETRY_MS);
    }
  }

  /** Describes what remains if the process ends now. Servers of this project's own deployments need no commands. */
  readonly #remainder = (): string[] => {
    const { deployment, primariesAtStart } = this;
    if (primariesAtStart === undefined) return [];
    const nodes = deployment.nodes.map((node) => ({
      ...{ node, why: "", hasUser: this.#withUser.has(node.name) },
      hasKeys: this.#keys.size > 0 && primariesAtStart.includes(node.name),
    }));
    return this.#commands(nodes.filter(({ hasKeys, hasUser }) => hasKeys || hasUser));
  };

  #commands(uncleaned: readonly UncleanedNode[]): string[] {
    const remainder = { user: this.#run, keys: [...this.#keys.values()], uncleaned, mark: MARK };
    return uncleaned.length === 0 ? [] : removalCommands(this.deployment, remainder);
  }

  async #removeOnce(current: CurrentNodes): Promise<{ removed: number; uncleaned: UncleanedNode[] }> {
    const failures = new Map<string, string>(current.silent.map(({ node, why }) => [node.name, why]));
    const holders = current.replying.filter(({ node: { name } }) => this.#withUser.has(name));
    await Promise.all(
      holders.map(async ({ node: { name }, connection }) => {
        try {
          await connection.call("ACL", "DELUSER", this.#run);
          this.#withUser.delete(name);
        } catch (error) {
          failures.set(name, messageOf(error));
        }
      }),
    );
    const cleaned: PrimaryNode[] = [];
    let removed = 0;
    await Promise.all(
      current.primaries.map(async (primary) => {
        try {
          for (const names of this.#keys.values()) {
            // Not `removed += await …`, which would lose what other primaries add meanwhile.
            const count = await removeKeys(primary, names);
            removed += count;
          }
          cleaned.push(primary);
        } catch (error) {
          failures.set(primary.name, messageOf(error));
        }
      }),
    );
    const seen = [...current.primaries, ...current.silent].map(({ node }) => node);
    const nodes = [...new Set([...this.deployment.nodes, ...seen])];
    const uncleaned = nodes.flatMap((node) => {
      const hasUser = this.#withUser.has(node.name);
      const hasKeys = this.#keys.size > 0 && this.#mayHaveKeys(node.name, current, cleaned);
      const why = failures.get(node.name) ?? "it is no longer a primary, and no other node is";
      return hasUser || hasKeys ? [{ node, why, hasUser, hasKeys }] : [];
    });
    // The mark goes last: while keys remain, a later run can find them.
    if (this.#keys.size > 0 && !uncleaned.some(({ hasKeys }) => hasKeys))
      removed += await unlinkMark(cleaned).catch(() => 1);
    return { removed, uncleaned };
  }

  /** A replica holds what its primary holds. A silent node can hold keys if no other node has replaced it. */
  #mayHaveKeys(name: string, { primaries, silent }: CurrentNodes, cleaned: readonly PrimaryNode[]): boolean {
    if (cleaned.some((primary) => primary.name === name)) return false;
    if (primaries.some((primary) => primary.name === name)) return true;
    const isSilent = silent.some(({ node }) => node.name === name);
    const wasPrimary = this.primariesAtStart?.includes(name) === true;
    if (this.deployment.mode === "cluster") return !coversAllSlots(cleaned) && (isSilent || wasPrimary);
    return wasPrimary && (isSilent || cleaned.length === 0);
  }

  /** @throws Failure with the commands that remove the rest */
  async #removeLeft({ keys }: Mark): Promise<void> {
    for (const names of keys) this.#keys.set(JSON.stringify(names), names);
    const lines = await this.remove();
    if (lines.length > 0) throw new Failure(lines.join("\n"));
    this.#keys.clear();
  }

  #named(keys: NeededKeys): [string, KeyNames] {
    const names = keyNames(keys, this.deployment.mode === "cluster");
    return [JSON.stringify(names), names];
  }
}

function coversAllSlots(primaries: readonly PrimaryNode[]): boolean {
  const all = { from: 0, to: SLOT_COUNT - 1 };
  return (
    subtractRanges(
      [all],
      primaries.flatMap(({ slots = [] }) => slots),
    ).length === 0
  );
}

function servesMark({ slots }: PrimaryNode): boolean {
  return slots?.some(({ from, to }) => from <= MARK_SLOT && MARK_SLOT <= to) ?? true;
}

async function readMark(primaries: readonly PrimaryNode[]): Promise<Mark | undefined> {
  const server = primaries.find(servesMark);
  const text = await server?.connection.get(MARK);
  if (server === undefined || text === null || text === undefined) return undefined;
  try {
    return markSchema.parse(JSON.parse(text));
  } catch {
    throw BadInput.of(
      server.name,
      "unknown-mark",
      `the key ${MARK} says that a measurement left keys, but not in the format of this version; measure with the ` +
        "version that wrote it, or remove the keys and then this key",
    );
  }
}

async function unlinkMark(primaries: readonly PrimaryNode[]): Promise<number> {
  return (await primaries.find(servesMark)?.connection.unlink(MARK)) ?? 0;
}

/** Notices are printed when a run begins, and with the error if it does not begin. */
function withNotices(error: unknown, notices: readonly string[]): unknown {
  const add = (text: string): string => [text, ...notices].join("\n");
  if (error instanceof BadInput)
    return new BadInput(
      error.subject,
      error.problems.map((each) => ({ ...each, message: add(each.message) })),
    );
  return error instanceof Failure ? new Failure(add(error.message), { cause: error }) : error;
}

interface NodeUsers {
  readonly node: DeploymentNode;
  readonly users: readonly string[];
}

function refuseMarked(
  deployment: Deployment,
  primaries: CurrentNodes["primaries"],
  users: readonly NodeUsers[],
  { run, at, keys }: Mark,
  overwrite: boolean,
): void {
  const isAlive = isRunAlive(run);
  if (isAlive === true)
    throw BadInput.of(
      deployment.name,
      "measured-now",
      `another measurement, which began at ${at}, measures these servers now; wait until it ends`,
    );
  if (overwrite) return;
  const withKeys = primaries.map(({ node }) => node);
  const withUser = users.flatMap((each) => (each.users.includes(run) ? [each.node] : []));
  const uncleaned = [...new Set([...withKeys, ...withUser])].map((node) => ({
    node,
    why: "",
    hasUser: withUser.includes(node),
    hasKeys: withKeys.includes(node),
  }));
  const doubt = isAlive === undefined ? " from another machine. If that measurement has ended, remove its keys:" : ":";
  throw BadInput.of(
    deployment.name,
    "keys-left",
    [
      `a measurement, which began at ${at}, left keys on these servers${doubt} measure again with --overwrite (or ` +
        "`overwriteKeys: true` of the external target), which removes them first, or type",
      ...removalCommands(deployment, { user: run, keys, uncleaned, mark: MARK }),
    ].join("\n"),
  );
}

async function refuseExisting(
  deployment: Deployment,
  primaries: readonly PrimaryNode[],
  planned: readonly KeyNames[],
): Promise<void> {
  const counts = await Promise.all(
    planned.map(async (names) => {
      const each = await Promise.all(primaries.map((primary) => countKeys(primary, names)));
      return { family: names.family, count: each.reduce((sum, count) => sum + count, 0) };
    }),
  );
  const found = counts.filter(({ count }) => count > 0);
  if (found.length === 0) return;
  const families = [...new Set(found.map(({ family }) => `${family}…`))].join(", ");
  throw BadInput.of(
    deployment.name,
    "keys-exist",
    `${Math.max(...found.map(({ count }) => count))} keys with names that valkey-benchmark uses (${families}) exist already; ` +
      "a benchmark would overwrite these keys and remove them afterwards. Remove the keys, or allow the benchmark to " +
      "overwrite them: set --overwrite, or `overwriteKeys: true` of the external target",
  );
}
