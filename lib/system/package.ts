/** Package that runs: a checkout with its TypeScript, or the compiled code of the package that was installed. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Whether this is the package's compiled code, which lies in its folder `dist`. */
export const IS_PACKAGE = __filename.endsWith(".js");

/** The directory of the checkout or of the installed package. It may be read-only. */
export const ROOT = resolve(__dirname, ...(IS_PACKAGE ? ["..", "..", ".."] : ["..", ".."]));

/** How a user starts the command; a command's name and options follow. */
export const COMMAND = IS_PACKAGE ? "npx valkey-measured" : "npm start --";

const packageFile = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly version: string };

/** Version of the package: three numbers, such as `0.1.0`. */
export const VERSION = packageFile.version;
