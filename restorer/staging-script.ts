/** The script of the container in which staging servers run. `staging-container.ts` works together with it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Script for a POSIX shell. Its first lines explain the files that it reads and writes. */
export const STAGING_SCRIPT = readFileSync(join(__dirname, "staging-servers.sh"), "utf8");
/** Environment variable of the script: the directory that it shares with the program. */
export const STAGING_DIRECTORY_VARIABLE = "STAGING_DIRECTORY";
