/** The recipe of docs/upgrades.md by which a deployment that runs by other means becomes one of ours: its commands, word for word. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTAINER_SECURITY_CONTEXT, POD_SECURITY_CONTEXT } from "../../../components/kubernetes/pods/security-context";
import { ROOT } from "../../../lib/system/package";
import { EnginelessStack, PASSWORD } from "../../support/kubernetes/engineless-stack";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import { KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { IMAGE } from "../../support/kubernetes/server-args";
import { parse } from "yaml";

const NAME = "orders";
const FORMER = { "app.kubernetes.io/instance": "former" };
const KEYS = 500;

/** A server with a password, and its Service. */
const former = (namespace: string): KubernetesObject[] =>
  [
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "former-0", namespace, labels: FORMER },
      spec: {
        securityContext: POD_SECURITY_CONTEXT,
        containers: [
          {
            name: "valkey",
            image: IMAGE,
            imagePullPolicy: "IfNotPresent",
            command: ["valkey-server", "--requirepass", PASSWORD, "--save", "", "--dir", "/tmp"],
            securityContext: { ...CONTAINER_SECURITY_CONTEXT, readOnlyRootFilesystem: false },
          },
        ],
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "former", namespace },
      spec: { selector: FORMER, ports: [{ port: 6379 }] },
    },
  ] as KubernetesObject[];

/** Fenced blocks of the recipe, by language. */
function recipe(language: string): string[] {
  const text = readFileSync(join(ROOT, "docs/upgrades.md"), "utf8");
  const section = text.split(/^## /m).find((each) => each.startsWith("From a different deployment"));
  if (section === undefined) throw new Error("docs/upgrades.md has no recipe");
  return [...section.matchAll(new RegExp(`^ *\`\`\`${language}\\n([^\`]*)\`\`\``, "gm"))].map(
    ([, block = ""]) => block,
  );
}

describe.skipIf(KUBECONFIG === undefined)(`a deployment that moves over${WHERE}`, { timeout: 200_000 }, () => {
  let here: ThrowAway;
  let stack: EnginelessStack;
  beforeAll(async () => {
    here = await ThrowAway.open();
    await here.apply(former(here.namespace));
    stack = new EnginelessStack(here, NAME, await here.zones());
    await stack.bringTo({ mode: "replication", replicas: 2, sentinel: false, settings: { save: "" } });
    await here.untilReady(FORMER, 1, 60);
  }, 200_000);
  afterAll(() => here.close(), 200_000);

  /** Runs the commands of `kubectl exec orders-0 -c valkey -- sh -c '…'`, one after the other. */
  async function follow(step: number): Promise<string> {
    const commands = [...(recipe("sh")[step] ?? "").matchAll(/kubectl exec orders-0 -c valkey -- sh -c '([^']+)'/g)];
    expect(commands.length).toBeGreaterThan(0);
    let output = "";
    for (const [, command = ""] of commands) output += await here.run(`${NAME}-0`, "valkey", command);
    return output;
  }
  const tellFormer = (commands: string): Promise<string> =>
    here.run("former-0", "valkey", `printf '${commands}' | VALKEYCLI_AUTH=${PASSWORD} valkey-cli`);
  const count = async (pod: string): Promise<number> =>
    Number(await here.run(pod, "valkey", ". /valkey/scripts/node.sh; echo DBSIZE | tell localhost 5"));

  it("copies all keys, and takes over when it has every write", async () => {
    await tellFormer(Array.from({ length: KEYS }, (_, key) => `SET key:${key} value EX 3600\\n`).join(""));
    const [policy = ""] = recipe("yaml");
    const object = parse(policy) as KubernetesObject;
    await here.apply([{ ...object, metadata: { ...object.metadata, namespace: here.namespace } }]);
    await follow(0);
    await here.until(60, async () => {
      const said = await follow(1);
      return said.includes("master_link_status:up") ? undefined : said;
    });
    await tellFormer("SET last write\\n");
    await here.until(30, async () => ((await count(`${NAME}-2`)) === KEYS + 1 ? undefined : "keys are missing"));
    await follow(2);
    const { verdict } = await stack.bringTo({
      mode: "replication",
      replicas: 2,
      sentinel: false,
      settings: { save: "" },
    });
    expect(verdict.assertions.filter(({ pass }) => !pass)).toEqual([]);
    for (const pod of [0, 1, 2]) expect(await count(`${NAME}-${pod}`)).toBe(KEYS + 1);
    expect(await tellFormer("DBSIZE\\n")).toContain(String(KEYS + 1));
  });
});
