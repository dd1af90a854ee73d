/** Tables of bad input: each row has the code and the path of its problem, and one file has the wording of all. */
import { expect, it } from "vitest";
import { type Problem, BadInput, problemText } from "../../lib/errors";

/** Problems of input for which a call throws BadInput. The list is empty if the call throws nothing. */
export function thrownProblems(call: () => unknown): readonly Problem[] {
  try {
    call();
    return [];
  } catch (error) {
    if (error instanceof BadInput) return error.problems;
    throw error;
  }
}

/** Code and path of a problem, such as `zone-twice platform.zones`, without the namespace of stack files. */
export const nameOf = ({ code, path }: Problem): string => `${code} ${path.replace(/^valkey:/, "")}`.trimEnd();

/**
 * Tests that each input has the problem that its row names.
 * @param file file with the code and the whole text of each problem, which `npm test -- --update` rewrites
 */
export function testProblems<Input extends readonly unknown[]>(
  file: string,
  find: (...input: Input) => readonly Problem[],
  rows: readonly (readonly [name: string, ...input: Input])[],
): void {
  it("has the code, the path and the reviewed wording", async () => {
    const texts = rows.flatMap(([name, ...input]) => {
      const found = find(...input);
      expect.soft(found.map(nameOf), name).toContain(name);
      const named = found.filter((each) => nameOf(each) === name);
      return named.map((each) => `${each.code}  ${problemText(each)}`.replaceAll("\n", "\\n"));
    });
    await expect([...new Set(texts)].sort().join("\n")).toMatchFileSnapshot(file);
  });
}
