/** Texts and values that a person reviews in a file, instead of a test that types them again. */
import { join } from "node:path";
import { expect } from "vitest";
import { ROOT } from "../../lib/system/package";
import { renderedYaml } from "./pulumi/rendered-yaml";

type Plain = Parameters<typeof renderedYaml>[1] extends ReadonlyMap<string, infer Value> ? Value : never;

/**
 * Expects texts or plain values as they stand in a file, each below what it is of.
 * @param name of the file in `tests/rendered/`, such as `platforms/requirements`; `npm test -- --update` rewrites it
 * @param title sentence at the beginning of the file
 */
export async function expectReviewed(
  name: string,
  title: string,
  found: Readonly<Record<string, unknown>> | readonly (readonly [what: string, found: unknown])[],
): Promise<void> {
  const entries = (Array.isArray(found) ? found : Object.entries(found)) as readonly [string, unknown][];
  const plain = entries.map(([what, each]) => [what, JSON.parse(JSON.stringify(each)) as Plain] as const);
  const file = join(ROOT, "tests", "rendered", `${name}.yaml`);
  await expect(renderedYaml(title, new Map(plain))).toMatchFileSnapshot(file);
}
