/**
 * Dropped packets and mounted file systems. Each is recorded in RUNS/ID/side-effects/NAME before it takes effect, so
 * that any process that stops the run can undo it.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { Failure, messageOf } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import { replaceFile } from "../../lib/system/replace-file";

const run = promisify(execFile);

interface Run {
  readonly id: string;
  readonly path: string;
}

const sideEffectSchema = z.discriminatedUnion("kind", [
  /** Packets from the address `from` to the address `to` are dropped. */
  z.strictObject({ kind: z.literal("partition"), from: z.string(), to: z.string(), comment: z.string() }),
  z.strictObject({ kind: z.literal("mount"), path: z.string() }),
]);
type SideEffect = z.infer<typeof sideEffectSchema>;
type PartitionRule = Extract<SideEffect, { kind: "partition" }>;

const SIDE_EFFECTS = "side-effects";

let serial = 0;

function record(path: string, effect: SideEffect): void {
  const directory = join(path, SIDE_EFFECTS);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, `${effect.kind}.${++serial}`);
  replaceFile(file, JSON.stringify(effect));
}

export function unmetPartitionPrecondition(): string | undefined {
  if (process.platform !== "linux") return "needs Linux, to partition loopback addresses";
  if (process.getuid?.() !== 0) return "needs root, for iptables";
  const hasIptables = ["/usr/sbin", "/sbin", "/usr/bin"].some((place) => existsSync(join(place, "iptables")));
  return hasIptables ? undefined : "needs iptables";
}

export function unmetDiskPrecondition(): string | undefined {
  if (process.platform !== "linux") return "needs Linux, for a small tmpfs";
  return process.getuid?.() === 0 ? undefined : "needs root, to mount a small tmpfs";
}

/** In memory. Does nothing if `path` is mounted already. @returns the path @throws Failure */
export async function mountDisk({ path: home }: Run, path: string, bytes: number): Promise<string> {
  if (isMounted(path)) return path;
  mkdirSync(path, { recursive: true, mode: 0o700 });
  record(home, { kind: "mount", path });
  await system("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=0700`, "tmpfs", path]);
  return path;
}

/** Does nothing if there is none. Processes that used it must have ended. */
export async function unmountDisk({ path: home }: Run, path: string): Promise<void> {
  for (const { effect, file } of recorded(home)) {
    if (effect.kind === "mount" && effect.path === path) await undo(effect, file);
  }
}

function isMounted(path: string): boolean {
  try {
    const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
    return mounts.some((line) => line.split(" ")[1] === path);
  } catch {
    return false;
  }
}

/** In both directions, only between these addresses. @throws Failure; `healNetwork` then removes added rules */
export async function partitionNetwork(
  { id, path }: Run,
  some: readonly string[],
  others: readonly string[],
): Promise<void> {
  const comment = `valkey-measured ${id}`;
  const pairs = some.flatMap((a) => others.map((b) => [a, b] as const));
  const directions = pairs.flatMap(([a, b]) => [
    { from: a, to: b },
    { from: b, to: a },
  ]);
  const rules = directions.map((direction): PartitionRule => ({ kind: "partition", ...direction, comment }));
  for (const rule of rules) record(path, rule);
  for (const rule of rules) await system("iptables", ["-w", "5", "-I", "INPUT", ...ruleArguments(rule)]);
}

/** @throws Failure when a rule cannot be removed; its record and those after it are kept */
export async function healNetwork({ path: home }: Run): Promise<void> {
  for (const { effect, file } of recorded(home)) if (effect.kind === "partition") await undo(effect, file);
}

function ruleArguments({ from, to, comment }: PartitionRule): string[] {
  return ["-s", from, "-d", to, "-m", "comment", "--comment", comment, "-j", "DROP"];
}

/** The run's processes must have ended: file systems in use cannot be unmounted. @throws Failure */
export async function removeSideEffects(path: string): Promise<void> {
  for (const { effect, file } of recorded(path)) await undo(effect, file);
}

function recorded(path: string): { readonly effect: SideEffect; readonly file: string }[] {
  const directory = join(path, SIDE_EFFECTS);
  if (!existsSync(directory)) return [];
  const names = readdirSync(directory).filter((name) => !name.endsWith(".new"));
  return names.flatMap((name) => {
    const file = join(directory, name);
    const effect = sideEffectSchema.safeParse(JSON.parse(readFileSync(file, "utf8"))).data;
    return effect === undefined ? [] : [{ effect, file }];
  });
}

async function undo(effect: SideEffect, file: string): Promise<void> {
  if (effect.kind === "partition") await removeRules(effect);
  else await unmount(effect.path);
  rmSync(file, { force: true });
}

/** For the threads of an ended process to release their files, which takes a while on busy machines. */
const RELEASE_MS = 10_000;

async function unmount(path: string): Promise<void> {
  let failure: unknown;
  const isUnmounted = async (): Promise<boolean> => {
    if (!isMounted(path)) return true;
    try {
      return await system("umount", [path]);
    } catch (error) {
      failure = error;
      return false;
    }
  };
  if (!(await holdsInTime(isUnmounted, { timeoutMs: RELEASE_MS }))) throw failure;
}

/** It may exist several times, or not at all. @throws Failure when it may still exist */
async function removeRules(rule: PartitionRule): Promise<void> {
  while (await system("iptables", ["-w", "5", "-D", "INPUT", ...ruleArguments(rule)], NO_SUCH_RULE));
}

/** If a rule does not exist. Status 4: another process has the lock, or a permission is missing. */
const NO_SUCH_RULE = 1;

async function system(command: string, args: readonly string[], expected = 0): Promise<boolean> {
  try {
    await run(command, [...args]);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === expected) return false;
    throw new Failure(`${command} failed: ${messageOf(error).trim().split("\n").at(-1) ?? ""}`, { cause: error });
  }
}
