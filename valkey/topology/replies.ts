/** INFO, similar text with lines `key:value`, and replies in which names and values alternate. */

/** If a key is repeated, the last value counts. */
export function parseInfo(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0 && !line.startsWith("#")) values.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return values;
}

/** If the key is missing or the value is not a number, the result is undefined, not 0. */
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

/** CONFIG GET and Sentinels send such replies. */
export function parseFlatReply(reply: unknown): Map<string, string> {
  const words = Array.isArray(reply) ? reply.map(String) : [];
  const values = new Map<string, string>();
  for (let index = 0; index < words.length; index += 2) values.set(words[index] ?? "", words[index + 1] ?? "");
  return values;
}

export function hasPrimaryRole(info: ReadonlyMap<string, string>): boolean {
  return info.get("role") === "master";
}
