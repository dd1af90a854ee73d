/** Data sets made at random, of all types and encodings that a server knows. */
/** A generator of numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const LIBRARY = `#!lua name=lib
redis.register_function('double', function(keys, args) return args[1] * 2 end)`;

type Argument = string | Buffer | number;

export interface Caller {
  readonly call: (command: string, args: (string | Buffer)[]) => Promise<unknown>;
}

/** Writes keys of each type, in databases 0 and 3 unless `isCluster`. @returns the commands that the server refused */
export async function writeDataSet(
  connection: Caller,
  seed: number,
  count: number,
  { isCluster = false }: { readonly isCluster?: boolean } = {},
): Promise<string[]> {
  const random = numbers(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const refused = new Set<string>();
  let pending: Promise<unknown>[] = [];
  const call = (command: string, ...args: Argument[]): void => {
    pending.push(
      connection
        .call(
          command,
          args.map((each) => (Buffer.isBuffer(each) ? each : String(each))),
        )
        .catch(() => refused.add(command)),
    );
  };
  const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => below(256)));
  const word = (): Argument => {
    switch (below(7)) {
      case 0:
        return below(200) - 100;
      case 1:
        return below(2 ** 31) - 2 ** 30;
      case 2:
        return String(BigInt(below(2 ** 31)) * BigInt(below(2 ** 31)) * (random() < 0.5 ? 1n : -1n));
      case 3:
        return "a".repeat(below(120));
      case 4:
        return bytes(below(100));
      case 5:
        return `\r\n#TS:99\r\n\0${below(1000)}`;
      default:
        return below(60) === 0 ? bytes(5000) : `word-${below(10000)}`;
    }
  };
  // Few elements make a compact encoding, many make a table.
  const size = (): number => [1, 3, 20, 90, 200, 700][below(6)] ?? 1;
  const words = (): Argument[] => Array.from({ length: size() }, word);
  for (let index = 0; index < count; index++) {
    if (!isCluster && index % 50 === 0) call("SELECT", index % 150 === 0 ? 3 : 0);
    const key =
      below(10) === 0
        ? Buffer.concat([bytes(8), Buffer.from(String(index))])
        : below(8) === 0
          ? String(index)
          : `{tag${below(500)}}:${"k".repeat(below(40))}${index}`;
    switch (below(9)) {
      case 0:
      case 1:
        call("SET", key, word());
        break;
      case 2:
        call("RPUSH", key, ...words());
        break;
      case 3:
        call("SADD", key, ...words());
        break;
      case 4:
        call("SADD", key, ...Array.from({ length: size() }, () => below(index % 2 === 0 ? 1000 : 2 ** 31) - 500));
        break;
      case 5:
        call(
          "ZADD",
          key,
          ...words().flatMap((member) => [below(8) === 0 ? "inf" : (random() - 0.5) * 10 ** below(20), member]),
        );
        break;
      case 6:
      case 7: {
        const fields = words();
        call("HSET", key, ...fields.flatMap((field) => [field, word()]));
        const first = fields[0] ?? "";
        if (below(2) === 0) call("HPEXPIREAT", key, Date.now() + 10 ** 7 + below(10 ** 8), "FIELDS", 1, first);
        break;
      }
      case 8: {
        for (let entry = 1; entry <= size(); entry++)
          call(
            "XADD",
            key,
            `${entry}-${below(5)}`,
            ...(below(3) === 0 ? ["other", word(), "more", word()] : ["field", word()]),
          );
        if (below(3) === 0) call("XDEL", key, "1-0", "1-1", "2-0", "2-1", "3-3");
        for (const group of ["g1", "g2"].slice(0, below(3))) {
          call("XGROUP", "CREATE", key, group, below(2) === 0 ? "0" : "$");
          call("XREADGROUP", "GROUP", group, `consumer-${below(3)}`, "COUNT", below(9), "STREAMS", key, ">");
          call("XGROUP", "CREATECONSUMER", key, group, "idle");
        }
        break;
      }
    }
    if (below(4) === 0) call("PEXPIREAT", key, Date.now() + 10 ** 7 + below(10 ** 9));
    if (pending.length > 500) {
      await Promise.all(pending);
      pending = [];
    }
  }
  call("SELECT", 0);
  call("FUNCTION", "LOAD", "REPLACE", LIBRARY);
  await Promise.all(pending);
  return [...refused];
}
