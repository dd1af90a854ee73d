/**
 * A server that differs from Valkey as Dragonfly does: INFO takes one section, CONFIG GET one pattern, and ACL rules no
 * subcommands.
 */
import { type AddressInfo, type Server, type Socket, createServer } from "node:net";

const INFO = [
  "server_name:dragonfly",
  "dragonfly_version:df-v1",
  "redis_version:7.2.0",
  "loading:0",
  "role:master",
  "connected_slaves:0",
  "master_replid:abc",
  "keyspace_hits:5",
  "keyspace_misses:1",
  "evicted_keys:0",
  "used_cpu_sys:1.5",
  "used_cpu_user:2.5",
  "cmdstat_get:calls=6,usec=1",
  "db0:keys=7,expires=0",
].join("\r\n");
const SETTINGS = ["port", "6379", "maxmemory", "1000", "hz", "100"];

const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
const list = (values: readonly string[]): string => `*${values.length}\r\n${values.map(bulk).join("")}`;

let written = "";

function answer(words: readonly string[]): string {
  const [command = "", ...rest] = words;
  switch (command.toUpperCase()) {
    case "INFO":
      return rest.length > 1 ? "-ERR syntax error\r\n" : bulk(INFO);
    case "CONFIG":
      return rest.length > 2 ? "-ERR syntax error\r\n" : list(SETTINGS);
    case "ACL": {
      if (rest[0]?.toUpperCase() === "USERS") return list(["default"]);
      const strange = rest.slice(2).find((rule) => rule.includes("|") || rule.toUpperCase() === "RESET");
      return strange === undefined ? "+OK\r\n" : `-ERR Unrecognized parameter ${strange.toUpperCase()}\r\n`;
    }
    case "SET":
      written = rest[1] ?? "";
      return "+OK\r\n";
    case "GET":
      return bulk(written);
    default:
      return "+OK\r\n";
  }
}

function commandsIn(text: string): { readonly commands: string[][]; readonly length: number } {
  const commands: string[][] = [];
  let at = 0;
  for (;;) {
    const head = /^\*(\d+)\r\n/.exec(text.slice(at));
    if (head === null) return { commands, length: at };
    let next = at + head[0].length;
    const words: string[] = [];
    for (let word = 0; word < Number(head[1]); word++) {
      const size = /^\$(\d+)\r\n/.exec(text.slice(next));
      if (size === null || text.length < next + size[0].length + Number(size[1]) + 2) return { commands, length: at };
      words.push(text.slice(next + size[0].length, next + size[0].length + Number(size[1])));
      next += size[0].length + Number(size[1]) + 2;
    }
    commands.push(words);
    at = next;
  }
}

export interface PlainServer {
  readonly port: number;
  readonly commands: readonly (readonly string[])[];
  readonly close: () => Promise<void>;
}

export async function startPlainServer(): Promise<PlainServer> {
  const seen: string[][] = [];
  const serve = (socket: Socket): void => {
    let pending = "";
    socket
      .on("error", () => undefined)
      .on("data", (data) => {
        pending += data.toString();
        const { commands, length } = commandsIn(pending);
        pending = pending.slice(length);
        seen.push(...commands);
        socket.write(commands.map(answer).join(""));
      });
  };
  const server: Server = createServer(serve);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    port: (server.address() as AddressInfo).port,
    commands: seen,
    close: () =>
      new Promise((done) => {
        server.close(() => {
          done();
        });
      }),
  };
}
