/** The programs of the pods `NAME-restore` and `NAME-drill`, as single files that need only Node.js. */
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { programBundle } from "../../lib/bundle";

/** `staging-container.ts` works together with it. Its first lines explain the files that it reads and writes. */
export const STAGING_SCRIPT = readFileSync(join(__dirname, "staging-servers.sh"), "utf8");
/** Environment variable of the script: the directory that it shares with the program. */
export const STAGING_DIRECTORY_VARIABLE = "STAGING_DIRECTORY";

export const RESTORER_BUNDLE = programBundle(join(__dirname, "restorer.cjs"), join(__dirname, "main.ts"));
