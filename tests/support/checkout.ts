/** A copy of the checkout, for tests that write into it. */
import { cpSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../lib/system/package";

/** Files in a checkout beside the project: other stacks' state, results, packages, compiled code. */
const NOT_COPIED = new Set(["node_modules", ".git", ".cache", ".state", "dist", "results"]);

export function copyCheckout(directory: string): void {
  for (const name of readdirSync(ROOT).filter((each) => !NOT_COPIED.has(each)))
    cpSync(join(ROOT, name), join(directory, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
}
