/** A connection that sends requests without waiting, to a real server with a password. */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { type PipelineOptions, Pipeline } from "../../../valkey/pipeline";
import { encodeCommand } from "../../../valkey/resp";
import { useSandbox } from "../../support/valkey/hooks";
import { callNode } from "../../support/valkey/real";

const sandbox = useSandbox();
let deployment: Deployment;
beforeAll(async () => {
  deployment = await sandbox.replication("piped", 0);
});

interface Piped {
  readonly pipeline: Pipeline<string>;
  readonly replies: readonly string[];
  readonly closed: Promise<{ readonly unanswered: readonly string[]; readonly reason: string }>;
}

function open(changes: Partial<PipelineOptions> = {}): Promise<Piped> {
  const endpoint = deployment.nodes[0]?.endpoint ?? { host: "", port: 0 };
  const replies: string[] = [];
  return new Promise((resolve, reject) => {
    let close: (end: Awaited<Piped["closed"]>) => void = () => undefined;
    const closed = new Promise<Awaited<Piped["closed"]>>((done) => (close = done));
    const pipeline = new Pipeline<string>(
      { endpoint, access: deployment.access, greeting: [], connectMs: 2000, ...changes },
      {
        ready: () => {
          resolve({ pipeline, replies, closed });
        },
        reply: (request, error) => void replies.push(`${request}: ${error ?? "done"}`),
        chunkProcessed: () => undefined,
        closed: (unanswered, reason) => {
          close({ unanswered, reason });
          reject(new Error(reason));
        },
      },
    );
  });
}

function send({ pipeline }: Piped, request: string, ...words: readonly string[]): void {
  pipeline.expectReply(request);
  pipeline.write(encodeCommand(words));
}

it("answers in order, skips replies that mean nothing, and hands back what was not answered", async () => {
  const piped = await open();
  send(piped, "set", "SET", "key", "value");
  piped.pipeline.expectReply(undefined);
  piped.pipeline.write(encodeCommand(["PING"]));
  send(piped, "wrong", "LPUSH", "key", "1");
  await expect.poll(() => piped.replies).toHaveLength(2);
  expect(piped.replies).toEqual(["set: done", expect.stringMatching(/^wrong: WRONGTYPE /)]);
  send(piped, "blocked", "BLPOP", "none", "0");
  send(piped, "behind", "GET", "key");
  await sleep(50);
  expect(piped.pipeline.oldestUnanswered).toBe("blocked");
  piped.pipeline.close("enough");
  expect(await piped.closed).toEqual({ unanswered: ["blocked", "behind"], reason: "enough" });
});

it("tries the former password once, and names the refusal of both", async () => {
  const { password } = deployment.access;
  const piped = await open({ access: { password: "new ü", formerPassword: password } });
  piped.pipeline.close("done");
  await expect(open({ access: { password: "new", formerPassword: "old" } })).rejects.toThrow(/^WRONGPASS/);
  await callNode(deployment, 0, "ACL", "SETUSER", "umlaut", "on", ">pässword", "+ping");
  const named = await open({ access: { username: "umlaut", password: "pässword" } });
  named.pipeline.close("done");
});

it("closes a connection whose greeting is refused, and one that gets no reply for too long", async () => {
  await expect(open({ greeting: [["SELECT", "99999"]] })).rejects.toThrow(/out of range/);
  const piped = await open({ silenceMs: 300 });
  await sleep(500);
  expect(piped.pipeline.isReady).toBe(true);
  send(piped, "blocked", "BLPOP", "none", "0");
  expect(await piped.closed).toEqual({ unanswered: ["blocked"], reason: "no answer within 0.3 s" });
});
