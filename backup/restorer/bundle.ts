import { join } from "node:path";
import { readFileSync } from "node:fs";
import { programBundle } from "../../lib/bundle";

export const STAGING_SCRIPT = readFileSync(join(__dirname, "staging-servers.sh"), "utf8");
export const STAGING_DIRECTORY_VARIABLE = "STAGING_DIRECTORY";

export const RESTORER_BUNDLE = programBundle(join(__dirname, "restorer.cjs"), join(__dirname, "main.ts"));
