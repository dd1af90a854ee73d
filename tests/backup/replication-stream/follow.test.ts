/** Behaviour when the server or the spool fails for good. The server is made by hand: real ones do not do this. */
import { type AddressInfo, type Server, type Socket, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { useDirectory } from "../../support/directory";
import { CommandParser } from "../../../backup/replication-stream/command-parser";
import { followStream } from "../../../backup/replication-stream/follow";
import { SpoolFailed } from "../../../backup/replication-stream/spool";

const FULL = `+FULLRESYNC ${"a".repeat(40)} 0\r\n`;

const directory = useDirectory();
let server: Server | undefined;
let sockets: Socket[] = [];
let requests = 0;
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  requests = 0;
  await new Promise((resolve) => server?.close(resolve));
});

/** Starts a server. @param afterSync what it sends after PSYNC, before it falls silent */
async function serve(afterSync: string): Promise<number> {
  const info = "valkey_version:9.1.0\r\nloading:0\r\nrole:master\r\n";
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    const parser = new CommandParser();
    socket.on("data", (piece) => {
      for (const { name } of parser.push(piece)) {
        if (name === "PSYNC") requests++;
        if (name === "PSYNC") socket.write(afterSync);
        else if (name === "INFO") socket.write(`$${info.length}\r\n${info}\r\n`);
        else socket.write(name === "PING" ? "+PONG\r\n" : "+OK\r\n");
      }
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

async function follow(port: number, patienceMs: number, spoolDirectory = directory.path): Promise<void> {
  const source = { name: "fake", endpoint: { host: "127.0.0.1", port }, access: {} };
  const { signal } = new AbortController();
  const options = { source: () => source, spoolDirectory, spoolLimit: 10 ** 6, patienceMs, signal };
  for await (const item of followStream(options)) expect(item.event.kind).toMatch(/^base/);
}

it.each([
  ["to PSYNC", ""],
  ["after the size of the file", `${FULL}$100\r\n`],
  ["within the file", `${FULL}$100\r\nREDIS`],
])("ends when the server sends nothing %s", async (_place, text) => {
  const port = await serve(text);
  await expect(follow(port, 300)).rejects.toThrow(
    "the replication stream was lost: the server has sent nothing for 0.3 s",
  );
});

it("does not ask for the data again when the spool cannot be written", async () => {
  const port = await serve(`${FULL}$5\r\nREDIS`);
  await expect(follow(port, 60_000, join(directory.path, "missing"))).rejects.toThrow(SpoolFailed);
  expect(requests).toBe(1);
});
