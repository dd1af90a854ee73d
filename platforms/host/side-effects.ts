/**
 * What a fault leaves on this machine beside processes: packets that are dropped, file systems that are mounted. Each is put
 * on the run's record before it is there, so that whoever ends the run, however late, takes it away again:
 *
 *   RUNS/ID/scars/NAME          one of them
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { Failure, messageOf } from "../../lib/errors";

const run = promisify(execFile);

/** The directory of a run. */
interface Run {
  readonly id: string;
  readonly path: string;
}

const scarSchema = z.discriminatedUnion("kind", [
  /** Nothing sent from one address arrives at the other. */
  z.strictObject({ kind: z.literal("cut"), from: z.string(), to: z.string(), comment: z.string() }),
  z.strictObject({ kind: z.literal("mount"), path: z.string() }),
]);
type Scar = z.infer<typeof scarSchema>;

let serial = 0;

/** @returns the record's path */
function putOnRecord(directory: string, scar: Scar): string {
  const scars = join(directory, "scars");
  mkdirSync(scars, { recursive: true, mode: 0o700 });
  const file = join(scars, `${scar.kind}.${++serial}`);
  writeFileSync(`${file}.new`, JSON.stringify(scar));
  renameSync(`${file}.new`, file);
  return file;
}

/** Why zones cannot be cut from each other on this machine; undefined where they can. */
export function unmetPartitionPrecondition(): string | undefined {
  if (process.platform !== "linux") return "needs Linux, whose loopback addresses can be cut from each other";
  if (process.getuid?.() !== 0) return "needs root, for iptables";
  return ["/usr/sbin", "/sbin", "/usr/bin"].some((place) => existsSync(join(place, "iptables")))
    ? undefined
    : "needs iptables";
}

/** Why a server cannot be given a small disk of its own on this machine; undefined where it can. */
export function unmetDiskPrecondition(): string | undefined {
  if (process.platform !== "linux") return "needs Linux, for a small tmpfs";
  return process.getuid?.() === 0 ? undefined : "needs root, to mount a small tmpfs";
}

/**
 * Mounts a file system of so many bytes, in memory; where it is mounted already, nothing happens.
 * @returns the path
 * @throws Failure when it cannot be mounted
 */
export async function mountDisk(directory: Run, path: string, bytes: number): Promise<string> {
  if (isMounted(path)) return path;
  mkdirSync(path, { recursive: true, mode: 0o700 });
  putOnRecord(directory.path, { kind: "mount", path });
  await system("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=0700`, "tmpfs", path]);
  return path;
}

/** Takes away the file system that was mounted there, where one was; who used it has ended. */
export async function unmountDisk({ path: home }: Run, path: string): Promise<void> {
  for (const { scar, file } of recorded(home))
    if (scar.kind === "mount" && scar.path === path) await removeScar(scar, file);
}

function isMounted(path: string): boolean {
  try {
    return readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .some((line) => line.split(" ")[1] === path);
  } catch {
    return false;
  }
}

/**
 * Drops what addresses of this run on one side send to those on the other, both ways; no other traffic of the machine is touched.
 * @throws Failure when the rules cannot be set; those that were are on record, for `healNetwork`
 */
export async function partitionNetwork(
  directory: Run,
  some: readonly string[],
  others: readonly string[],
): Promise<void> {
  const comment = `valkey-measured ${directory.id}`;
  const ways = some.flatMap((a) =>
    others.flatMap((b): CutScar[] => [
      { kind: "cut", from: a, to: b, comment },
      { kind: "cut", from: b, to: a, comment },
    ]),
  );
  for (const scar of ways) putOnRecord(directory.path, scar);
  for (const scar of ways) await system("iptables", ["-w", "5", "-I", "INPUT", ...rule(scar)]);
}

/** Takes every cut of the run back. @throws Failure when one cannot be: it and those after it stay on record */
export async function healNetwork({ path: home }: Run): Promise<void> {
  for (const { scar, file } of recorded(home)) if (scar.kind === "cut") await removeScar(scar, file);
}

type CutScar = Extract<Scar, { kind: "cut" }>;

function rule({ from, to, comment }: CutScar): string[] {
  return ["-s", from, "-d", to, "-m", "comment", "--comment", comment, "-j", "DROP"];
}

/**
 * Takes away all that is on record in a run's directory; doing it twice does no harm. Its processes have ended: they may
 * hold file systems.
 * @throws Failure when something cannot be taken away; its record stays
 */
export async function removeSideEffects(path: string): Promise<void> {
  for (const { scar, file } of recorded(path)) await removeScar(scar, file);
}

function recorded(path: string): { readonly scar: Scar; readonly file: string }[] {
  const scars = join(path, "scars");
  if (!existsSync(scars)) return [];
  return readdirSync(scars).flatMap((name) => {
    const file = join(scars, name);
    const scar = name.endsWith(".new") ? undefined : scarSchema.safeParse(JSON.parse(readFileSync(file, "utf8"))).data;
    return scar === undefined ? [] : [{ scar, file }];
  });
}

async function removeScar(scar: Scar, file: string): Promise<void> {
  if (scar.kind === "cut") await removeRules(scar);
  else if (isMounted(scar.path)) await system("umount", [scar.path]);
  rmSync(file, { force: true });
}

/** A rule may be there more than once, or not yet. @throws Failure when it is not certain that it is gone */
async function removeRules(scar: CutScar): Promise<void> {
  while (await system("iptables", ["-w", "5", "-D", "INPUT", ...rule(scar)], NO_SUCH_RULE));
}

/** iptables' status where there is none; 4 is a lock that others hold, or a right that is missing. */
const NO_SUCH_RULE = 1;

/** @returns false where it ended with the status that is expected beside 0 @throws Failure when it ended otherwise */
async function system(command: string, args: readonly string[], expected = 0): Promise<boolean> {
  try {
    await run(command, [...args]);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === expected) return false;
    throw new Failure(`${command} failed: ${messageOf(error).trim().split("\n").at(-1) ?? ""}`, { cause: error });
  }
}
