import { join } from "node:path";
import { programBundle } from "../../lib/bundle";

export const ARCHIVER_BUNDLE = programBundle(join(__dirname, "archiver.cjs"), join(__dirname, "main.ts"));
