/** Replication without Sentinels: `up` and the pods decide who is the primary. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { parse } from "yaml";
import { CONTAINER_SECURITY_CONTEXT, POD_SECURITY_CONTEXT } from "../../../components/kubernetes/pods/pod-basics";
import { ROOT } from "../../../lib/system/package";
import { openDeployment, openKubernetesClient } from "../../../platforms/deployment-reference";
import { type LeadPlace, designate, leadClients } from "../../../platforms/kubernetes/access/primary-lead";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { handOver } from "../../../valkey/formation/hand-over";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import type { LiveDeployment } from "../../support/kubernetes/live-deployment";
import { IMAGE } from "../../support/kubernetes/server-args";
import { story } from "../../support/kubernetes/story";

const NAME = "orders";
const SETTINGS = { save: "", "repl-diskless-sync-delay": 0, "tcp-backlog": 256, "enable-debug-command": "local" };
const BASE = { mode: "replication", replicas: 3, sentinel: false, settings: SETTINGS };
const backlog = (size: number): { deployment: object } => ({
  deployment: { settings: { ...SETTINGS, "tcp-backlog": size } },
});

async function leading({ target }: LiveDeployment): Promise<{ kubernetes: KubernetesClient; place: LeadPlace }> {
  const { namespace, lead } = target;
  if (lead === undefined) throw new Error("nothing leads to the primary");
  return { kubernetes: await openKubernetesClient(target), place: { namespace, lead } };
}
async function moveTo(live: LiveDeployment, pod: string): Promise<void> {
  const { kubernetes, place } = await leading(live);
  await handOver(await openDeployment(live.target, live.password), {
    to: pod,
    lead: async () => {
      await designate(kubernetes, place, pod);
      await leadClients(kubernetes, place, pod);
      // For the Service to follow.
      await sleep(1500);
    },
  });
  await live.isWhole();
}
const isUnfinished = async (live: LiveDeployment): Promise<boolean> => {
  await live.stack.refresh();
  const pods = live.stack.state("Rollout", NAME)?.["pods"] as { readonly unfinished?: boolean } | undefined;
  return pods?.unfinished === true;
};
const WATCHED = { deployment: { sentinel: true } };
let identities: readonly string[] = [];
let former: string | undefined;
const note = async (live: LiveDeployment): Promise<void> => {
  [former] = await live.primaries();
};
const hasMoved = async (live: LiveDeployment): Promise<void> => {
  expect(await live.primaries()).not.toEqual([former]);
};
const hasStayed = async (live: LiveDeployment): Promise<void> => {
  expect(await live.primaries()).toEqual([former]);
};

const sentinels = async ({ here }: LiveDeployment): Promise<number> =>
  (await here.pods({ "app.kubernetes.io/name": "valkey-sentinel" })).length;

const FORMER = { "app.kubernetes.io/instance": "former" };
/** More than the deployment has, which throws its own away. */
const FORMER_KEYS = 5000;
/** A server that this project does not manage, with the password of the deployment, and its Service. */
function formerServer({ here: { namespace }, password }: LiveDeployment): KubernetesObject[] {
  const server = {
    ...{ name: "valkey", image: IMAGE, imagePullPolicy: "IfNotPresent" },
    env: [{ name: "VALKEYCLI_AUTH", value: password }],
    command: ["sh", "-c", 'exec valkey-server --requirepass "$VALKEYCLI_AUTH" --save "" --dir /tmp'],
    securityContext: { ...CONTAINER_SECURITY_CONTEXT, readOnlyRootFilesystem: false },
  };
  return [
    {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "former-0", namespace, labels: FORMER } },
      spec: { securityContext: POD_SECURITY_CONTEXT, containers: [server] },
    },
    {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "former", namespace } },
      spec: { selector: FORMER, ports: [{ port: 6379 }] },
    },
  ] as KubernetesObject[];
}
function recipe(language: string): string[] {
  const text = readFileSync(join(ROOT, "docs/upgrades.md"), "utf8");
  const section = text.split(/^## /m).find((each) => each.startsWith("From a different deployment"));
  if (section === undefined) throw new Error("docs/upgrades.md has no recipe");
  const fence = new RegExp(`^ *\`\`\`${language}\\n([^\`]*)\`\`\``, "gm");
  return [...section.matchAll(fence)].map(([, block = ""]) => block);
}
/** Runs the commands of `kubectl exec orders-0 -c valkey -- sh -c '…'` of a block, one after the other. */
async function follow(live: LiveDeployment, block: number): Promise<string> {
  const commands = [...(recipe("sh")[block] ?? "").matchAll(/kubectl exec orders-0 -c valkey -- sh -c '([^']+)'/g)];
  expect(commands.length).toBeGreaterThan(0);
  let output = "";
  for (const [, command = ""] of commands) output += await live.here.run(`${NAME}-0`, "valkey", command);
  return output;
}

story("replication without Sentinels", NAME, { deployment: BASE }, [
  {
    title: "the data of a different deployment move over by the recipe, word for word",
    client: "is not asked",
    precondition: async (live) => {
      await live.here.apply(formerServer(live));
      await live.here.untilReady(FORMER, 1, 60);
    },
    change: async (live) => {
      const { here } = live;
      const tellFormer = (commands: string): Promise<string> =>
        here.run("former-0", "valkey", `${commands} | valkey-cli`);
      await tellFormer(`seq ${FORMER_KEYS} | sed 's/.*/SET key:& value EX 3600/'`);
      const policy = parse(recipe("yaml")[0] ?? "") as KubernetesObject;
      await here.apply([{ ...policy, metadata: { ...policy.metadata, namespace: here.namespace } }]);
      await follow(live, 0);
      await here.until(60, async () => {
        const said = await follow(live, 1);
        return said.includes("master_link_status:up") ? undefined : said;
      });
      await tellFormer("echo SET last write");
      const missing = async (pod: string): Promise<boolean> =>
        Number(await live.tell(pod, "DBSIZE")) !== FORMER_KEYS + 1;
      await here.until(30, async () => ((await missing(`${NAME}-2`)) ? "keys are missing" : undefined));
      await follow(live, 2);
      await live.isWhole();
      for (const pod of live.pods) expect(await missing(pod), pod).toBe(false);
      expect(await tellFormer("echo DBSIZE")).toContain(String(FORMER_KEYS + 1));
    },
  },
  {
    title: "a primary that starts while its replicas do not answer waits for them, and says so",
    precondition: note,
    change: async (live) => {
      const replicas = await live.replicas();
      const listen = (addresses: string): Promise<unknown> =>
        Promise.all(replicas.map((pod) => live.tell(pod, `CONFIG SET bind "${addresses}"`)));
      await listen("127.0.0.1");
      try {
        await live.crash(former ?? "");
        const waits = /orders-0 waits for orders-\S+ \(silent\) .*until they answer; .*kubectl exec orders-0 -- touch/;
        // Machines that share a directory of logs remove those of each other's pods. It is said again every 20 s.
        await live.here.until(120, async () => {
          const said = await openDeployment(live.target, live.password, { timeoutMs: 3000 }).then(() => "", String);
          return waits.test(said) ? undefined : `said: ${said}`;
        });
      } finally {
        await listen("* -::*");
      }
    },
    client: "is not asked",
    verdict: hasStayed,
  },
  {
    title: "a crash of the primary's process loses nothing that a replica had",
    precondition: note,
    change: (live) => live.crash(former ?? ""),
    client: "is not asked",
    verdict: hasStayed,
  },
  {
    title: "the deployment does not pass while its Service leads to a replica or nowhere",
    client: "is not asked",
    change: async (live) => {
      const { kubernetes, place } = await leading(live);
      const found = async (pod: string, text: string): Promise<void> => {
        await leadClients(kubernetes, place, pod);
        await live.here.until(20, async () => {
          const failing = JSON.stringify(await live.failing());
          return failing === JSON.stringify([["clients-led", text]]) ? undefined : failing;
        });
      };
      const to = `Service ${NAME} routes clients to this server, which is not the primary`;
      await found(`${NAME}-1`, `${NAME}-1: ${to}; ${NAME}-0: Service ${NAME} does not route clients to this server`);
      await found(`${NAME}-9`, `Service ${NAME} has no endpoint`);
      await leadClients(kubernetes, place, `${NAME}-0`);
    },
  },
  {
    title: "all pods that go in order keep what the primary saved",
    client: "is not asked",
    change: (live) => live.delete(undefined, ...live.pods),
  },
  {
    title: "the primary's pod that is killed loses nothing that a replica had",
    precondition: note,
    client: "is not asked",
    change: (live) => live.delete(0, former ?? ""),
    verdict: hasStayed,
  },
  {
    title: "a changed setting restarts all pods, and the primary hands over first",
    precondition: note,
    change: (live) => live.up(backlog(257)),
    client: "no failed write",
    verdict: hasMoved,
    leaves: "tcp-backlog 257, and a primary that is not pod 0",
  },
  {
    title: "a primary that is not pod 0 stays the primary when its pod restarts",
    precondition: note,
    change: async (live) => {
      await live.delete(undefined, former ?? "");
      await live.isWhole();
    },
    client: "failed writes",
    verdict: hasStayed,
  },
  {
    title: "a primary that is not pod 0 hands over to a pod of the new template",
    precondition: note,
    change: (live) => live.up(),
    client: "no failed write",
    verdict: hasMoved,
  },
  {
    title: "a refresh shows a Service that leads to nobody, which the next update repairs",
    precondition: async (live) => {
      expect(await isUnfinished(live)).toBe(false);
    },
    change: async (live) => {
      const { kubernetes, place } = await leading(live);
      await leadClients(kubernetes, place, `${NAME}-9`);
      expect(await isUnfinished(live)).toBe(true);
      await live.stack.repair();
      expect(await isUnfinished(live)).toBe(false);
    },
    client: "is not asked",
  },
  {
    title: "an application gets a user of its own on running servers, and rules that no server takes are refused",
    precondition: async (live) => {
      identities = await live.identities();
    },
    change: async (live) => {
      const users = (rules: string) => ({ deployment: { users: { app: { rules } } } });
      await expect(live.up(users("+@reads ~app:*"))).rejects.toThrow(
        /refuse rules of users, so nothing has changed: users\.app\.rules "\+@reads ~app:\*": ERR/,
      );
      await live.up(users("+@read ~app:*"));
      const { verdict } = await live.verified();
      expect(verdict.assertions.find(({ id }) => id === "users")).toMatchObject({ found: "app", pass: true });
      await live.up();
    },
    client: "no failed write",
    verdict: async (live) => {
      expect(await live.identities()).toEqual(identities);
    },
  },
  {
    title: "TLS is refused by a preview, because all nodes would restart at once and lose their data",
    change: async (live) => {
      const tls = { secretName: "certificate" };
      const { problems } = await live.stack.preview(live.file({ platform: { tls, allowDowntime: true } }));
      expect(problems.join()).toMatch(/TLS cannot be switched on while clients of orders work: .* lose their data/);
    },
    client: "is not asked",
  },
  {
    title: "the primary hands over before its pod leaves, also in an update that is then killed and taken back",
    precondition: (live) => moveTo(live, `${NAME}-3`),
    change: async (live) => {
      const fewer = { deployment: { replicas: 2 } };
      await expect(live.up(fewer, `update StatefulSet ${NAME}`)).rejects.toThrow("killed");
      expect(await live.primaries()).not.toEqual([`${NAME}-3`]);
      await live.up();
    },
    client: "no failed write",
  },
  {
    title: "a Service for clients outside that comes later leads to the primary",
    precondition: (live) => moveTo(live, `${NAME}-1`),
    change: (live) => live.up({ deployment: { external: { type: "NodePort" } } }),
    client: "no failed write",
    verdict: async (live) => {
      const { verdict } = await live.verified();
      const { found } = verdict.assertions.find(({ id }) => id === "clients-led") ?? {};
      expect(found).toContain(`${NAME}-external to the primary`);
    },
  },
  {
    title: "Sentinels come, which a preview says, and there is one primary",
    change: async (live) => {
      const { lines } = await live.stack.preview(live.file(WATCHED));
      expect(lines).toContain(
        "Sentinels are added: a replica takes over when the primary fails, and clients connect through proxies",
      );
      await live.up(WATCHED);
      await live.isWhole();
      // Sentinels look for a pod's new address after 15 s.
      await sleep(18_000);
      expect(await live.primaries()).toHaveLength(1);
    },
    client: "is not asked",
    leaves: "Sentinels",
  },
  {
    title: "Sentinels run again where an update that removes them was killed before the servers changed",
    change: async (live) => {
      await expect(live.up({}, `update StatefulSet ${NAME}`)).rejects.toThrow("killed");
      await live.up(WATCHED);
      expect(await sentinels(live)).toBe(3);
    },
    client: "is not asked",
  },
  {
    title: "Sentinels leave, after which the designated pod stays the primary",
    change: async (live) => {
      await live.up();
      expect(await sentinels(live)).toBe(0);
      await note(live);
      // Sentinels that are still there make another primary a replica after 15 to 18 s.
      await sleep(18_000);
    },
    client: "is not asked",
    verdict: hasStayed,
  },
]);
