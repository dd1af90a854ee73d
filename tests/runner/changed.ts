/**
 * Which test files a change since `main` can reach: through imports, and through paths that a file names in a text,
 * because tests also read files and start programs.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";

/** Copies the whole checkout, so that every change reaches it. */
const COPIES_ALL = "tests/support/checkout.ts";

/** Names relative to the root that a change touches: commits since `main`, uncommitted changes, new files. */
export function changedFiles(root: string, base = "main"): string[] {
  const git = (...args: string[]): string[] =>
    execFileSync("git", args, { cwd: root, encoding: "utf8" })
      .split("\n")
      .filter((line) => line !== "");
  const fork = git("merge-base", "HEAD", base)[0] ?? base;
  return [...git("diff", "--name-only", fork), ...git("ls-files", "--others", "--exclude-standard")];
}

/**
 * @param files all files of the checkout, relative to the root
 * @returns the test files that a change reaches; all of them where something changed that no file names, because what
 *   it matters to is then unknown
 */
export function reachedTests(root: string, files: readonly string[], changed: readonly string[]): string[] {
  const tests = files.filter((file) => file.endsWith(".test.ts"));
  const users = usersOf(root, files);
  const reached = new Set(changed.length > 0 ? [...changed, COPIES_ALL] : []);
  const pending = [...reached];
  for (let file = pending.pop(); file !== undefined; file = pending.pop())
    for (const user of users.get(file) ?? [])
      if (!reached.has(user)) {
        reached.add(user);
        pending.push(user);
      }
  const isUnknown = changed.some((file) => !tests.includes(file) && !users.has(file) && !file.endsWith(".md"));
  return isUnknown ? tests : tests.filter((test) => reached.has(test));
}

/** For each file the files that import or name it. */
function usersOf(root: string, files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const known = new Set(files);
  const users = new Map<string, string[]>();
  for (const file of files.filter((each) => each.endsWith(".ts")))
    for (const used of usedBy(root, file, files, known)) users.set(used, [...(users.get(used) ?? []), file]);
  return users;
}

function usedBy(root: string, file: string, files: readonly string[], known: ReadonlySet<string>): Set<string> {
  const text = readFileSync(join(root, file), "utf8");
  const used = new Set<string>();
  const imported = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
  for (const name of imported.filter((each) => each.startsWith("."))) {
    const path = relative(root, resolve(root, dirname(file), name));
    for (const candidate of [path, `${path}.ts`, path.replace(/\.js$/, ".ts"), `${path}/index.ts`])
      if (known.has(candidate)) used.add(candidate);
  }
  for (const [, name = ""] of text.matchAll(/["'`]([\w./-]+)["'`]/g)) {
    for (const path of [name, relative(root, resolve(root, dirname(file), name))]) {
      if (known.has(path)) used.add(path);
      // A folder that is named stands for what lies in it.
      else if (name.includes("/") && isFolder(join(root, path)))
        for (const inside of files) if (inside.startsWith(`${path}/`)) used.add(inside);
    }
  }
  used.delete(file);
  return used;
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
