const INSTANT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** A time without quotes in a stack file, as Pulumi's engine passes it on: `2026-11-24 08:00:00 +0000 UTC`. */
const OF_ENGINE = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d+)?) ([+-]\d{2})(\d{2}) \S+$/;

/** Milliseconds since the epoch; undefined for other texts and days that do not exist. */
export function parseInstant(given: string): number | undefined {
  const text = given.replace(OF_ENGINE, "$1T$2$3:$4");
  const day = INSTANT.exec(text)?.[1];
  const [time, midnight] = [Date.parse(text), Date.parse(`${day}T00:00:00Z`)];
  // 30 February would be 2 March.
  if (day === undefined || Number.isNaN(time) || Number.isNaN(midnight)) return undefined;
  return new Date(midnight).toISOString().startsWith(day) ? time : undefined;
}
