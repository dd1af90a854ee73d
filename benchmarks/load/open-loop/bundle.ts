/**
 * The open-loop generator as a single file that needs only Node.js. It is used for a process on this machine and for a
 * Job.
 */
import { join } from "node:path";
import { programBundle } from "../../../lib/bundle";

export const GENERATOR_BUNDLE = programBundle(join(__dirname, "open-loop.cjs"), join(__dirname, "main.ts"));
