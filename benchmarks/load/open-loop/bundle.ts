import { join } from "node:path";
import { programBundle } from "../../../lib/bundle";

export const GENERATOR_BUNDLE = programBundle(join(__dirname, "open-loop.cjs"), join(__dirname, "main.ts"));
