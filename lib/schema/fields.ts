import * as z from "zod";
import { parseSize } from "../units";

export const wholeNumber = (min: number, max = 1_000_000): z.ZodNumber => z.int().min(min).max(max);

export const fraction = z.number().min(0).max(1);

/** Bytes, as a number or in the notation of valkey.conf: `256mb`. */
export const byteSize = z.union([z.int().min(0), z.string()]).transform((value, context) => {
  const bytes = typeof value === "number" ? value : parseSize(value);
  if (bytes !== undefined) return bytes;
  context.addIssue({ code: "custom", message: "expected bytes, or a size such as 256mb or 1gb" });
  return z.NEVER;
});

/**
 * Text without line breaks. A directive of valkey.conf ends at the end of the line, so a value cannot contain line
 * breaks.
 */
export const oneLine = z.string().regex(/^[^\r\n]*$/, "expected one line");

export const recordName = z
  .string()
  .regex(/^[\w.-]{1,64}$/, "expected letters, digits, dots, hyphens and underscores, at most 64");
