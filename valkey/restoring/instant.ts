/** Times as of which data are restored, as text. Pure. */

/** Pattern of a time: ISO 8601 with a time zone. */
const INSTANT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Parses a time into milliseconds since the epoch. Undefined for other texts, and for a day that does not exist. Pure.
 */
export function parseInstant(text: string): number | undefined {
  const day = INSTANT.exec(text)?.[1];
  const [time, midnight] = [Date.parse(text), Date.parse(`${day}T00:00:00Z`)];
  // 30 February would be 2 March.
  if (day === undefined || Number.isNaN(time) || Number.isNaN(midnight)) return undefined;
  return new Date(midnight).toISOString().startsWith(day) ? time : undefined;
}
