import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Whether this code is the compiled code of the package. Compiled code is in the directory `dist`. */
export const IS_PACKAGE = __filename.endsWith(".js");

/** The directory of the checkout or of the installed package. The directory can be read-only. */
export const ROOT = resolve(__dirname, ...(IS_PACKAGE ? ["..", "..", ".."] : ["..", ".."]));

export const COMMAND = IS_PACKAGE ? "npx valkey-measured" : "npm start --";

const packageFile = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly version: string };

export const VERSION = packageFile.version;
