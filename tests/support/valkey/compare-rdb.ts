/** Compares one RDB file with another. */
import { type CompareOptions, type Comparison, compareRdbs } from "../../../backup/rdb/comparing/compare";
import type { ByteSource } from "../../../backup/rdb/walk";

export async function compareRdb(
  wanted: () => ByteSource,
  found: () => ByteSource,
  options: CompareOptions = {},
): Promise<Comparison> {
  const [comparison] = await compareRdbs([{ open: wanted }], [{ open: found }], options);
  if (comparison === undefined) throw new Error("there is no comparison");
  return comparison;
}
