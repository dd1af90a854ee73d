/**
 * The programs of the pods `NAME-restore` and `NAME-drill`: the restorer as a single file that needs only Node.js, and
 * the script of the staging servers.
 */
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { programBundle } from "../lib/bundle";

/**
 * Script for a POSIX shell, in the container in which staging servers run. `staging-container.ts` works together with it.
 * Its first lines explain the files that it reads and writes.
 */
export const STAGING_SCRIPT = readFileSync(join(__dirname, "staging-servers.sh"), "utf8");
/** Environment variable of the script: the directory that it shares with the program. */
export const STAGING_DIRECTORY_VARIABLE = "STAGING_DIRECTORY";

export const RESTORER_BUNDLE = programBundle(join(__dirname, "restorer.cjs"), join(__dirname, "main.ts"));
