/** INFO and other `key:value` text as data. Pure. */

/** Keys to values of an INFO reply; section headings dropped, later keys win. */
export function parseInfo(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0 && !line.startsWith("#")) values.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return values;
}

/** A number, or undefined where the key is missing or its value is none: never 0 in place of a figure that is not there. */
export function infoNumber(info: ReadonlyMap<string, string>, key: string): number | undefined {
  const text = info.get(key);
  if (text === undefined || text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** The fields of a composite value: `ip=127.0.0.1,port=7001,state=online` or `calls=21,usec=175,…`. */
export function infoFields(value: string): Map<string, string> {
  return new Map(
    value.split(",").map((field) => {
      const equals = field.indexOf("=");
      return equals < 0 ? [field, ""] : [field.slice(0, equals), field.slice(equals + 1)];
    }),
  );
}
