/** Certificates of servers in pods: another one is loaded without a restart, and one that cannot serve is refused. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import { ClusterServers } from "../../../components/kubernetes/servers/cluster-servers";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { openDeployment } from "../../../platforms/deployment-reference";
import type { TlsRequest } from "../../../provider/handlers/checks/tls-check";
import { handler } from "../../../provider/handlers/checks/tls-check";
import type { TlsFiles } from "../../support/kubernetes/certificates";
import { issueCertificate, serverHosts } from "../../support/kubernetes/certificates";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import { renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { isReady, KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { IMAGE, plainServers } from "../../support/kubernetes/server-args";

const SHAPE = { primaries: 3, replicasPerPrimary: 0 };
/** By deployment: only newer servers could watch their files by themselves. */
const IMAGES = { newer: IMAGE, older: "docker.io/valkey/valkey:8.1.1" };
const NAMES = Object.keys(IMAGES);
const PASSWORD = "known to all of them";

describe.skipIf(KUBECONFIG === undefined)(`certificates on Kubernetes${WHERE}`, { timeout: 180_000 }, () => {
  let here: ThrowAway;

  const issue = (): TlsFiles => issueCertificate(serverHosts(here.namespace, ...NAMES));
  const publish = (name: string, data: Readonly<Record<string, string>>): Promise<void> => {
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: here.namespace }, data };
    return here.apply([secret]);
  };
  const pods = async (): ReturnType<ThrowAway["pods"]> => here.pods({ "app.kubernetes.io/name": "valkey" });
  const identities = async (): Promise<string[]> =>
    (await pods())
      .map(({ metadata, status }) => `${metadata?.uid ?? ""} ${status?.containerStatuses?.[0]?.restartCount ?? "?"}`)
      .sort();
  /** Pods whose server has a certificate of the authority in the mounted files; the change of a pod makes kubelets look. */
  const serving = async (text: string): Promise<string[]> => {
    const answers = (await pods()).map(async ({ metadata }) => {
      const name = metadata?.name ?? "";
      const said = await here
        .run(name, "valkey", `. /valkey/scripts/node.sh; cat /valkey/tls/ca.crt; echo PING | tell localhost 5`)
        .catch(String);
      return said.includes(text) && said.includes("PONG") ? [name] : [];
    });
    return (await Promise.all(answers)).flat();
  };
  const target = (name: string): KubernetesReference => ({
    ...podReference(
      name,
      { mode: "cluster", shape: SHAPE },
      { namespace: here.namespace, zones: ["a"], settings: {}, tls: { secretName: "certificate" } },
    ),
    kubeconfig: KUBECONFIG,
  });

  beforeAll(async () => {
    here = await ThrowAway.open();
    await publish("certificate", issue());
    const zones = (await here.zones()).slice(0, 1);
    const objects: KubernetesObject[] = await renderObjects(() => {
      for (const [name, image] of Object.entries(IMAGES))
        new ClusterServers(name, {
          ...plainServers,
          namespace: here.namespace,
          image,
          imagePullPolicy: "IfNotPresent",
          password: PASSWORD,
          shape: SHAPE,
          tls: { secretName: "certificate" },
          placement: { zones, hostAntiAffinity: "none" },
        });
    });
    await here.apply(objects);
    await here.untilReady({ "app.kubernetes.io/name": "valkey" }, 6, 120);
  }, 180_000);
  afterAll(async () => {
    await here.close();
  }, 180_000);

  it("are loaded by running servers when the Secret changes, also those of another authority", async () => {
    const before = await identities();
    const files = issue();
    await publish("certificate", files);
    const authority = Buffer.from(files["ca.crt"], "base64").toString().split("\n")[5] ?? "none";
    for (const { metadata } of await pods())
      await here.core.patchNamespacedPod({
        ...{ namespace: here.namespace, name: metadata?.name ?? "" },
        body: [{ op: "add", path: "/metadata/labels/look", value: "now" }],
      });
    await here.until(120, async () => {
      const names = await serving(authority);
      return names.length === 6 ? undefined : `only ${names.join(", ")} have loaded it`;
    });
    expect(await identities()).toEqual(before);
    expect((await pods()).every(isReady)).toBe(true);
    // Only with the authority of the Secret that the reference names.
    expect((await openDeployment(target("newer"), PASSWORD)).access.tls?.insecure).toBe(false);
    await publish("another", issue());
    const stranger = { ...target("newer"), tls: { secretName: "another" } };
    await expect(openDeployment(stranger, PASSWORD, { timeoutMs: 3_000 })).rejects.toThrow(/certificate/);
  });

  it("are refused at preview where servers could not use them, and so is switching TLS on or off", async () => {
    const files = issue();
    await publish("damaged", { ...files, "tls.key": issue()["tls.key"] });
    const hosts = [`newer.${here.namespace}.svc.cluster.local`];
    const limits = { allowDowntime: false, keepsData: true, timeoutSeconds: 1 };
    const refused = async (
      tls: TlsRequest | undefined,
      olds?: TlsRequest | null,
      more: object = {},
    ): Promise<string[]> => {
      const inputs = { ...limits, target: target("newer"), tls, ...more };
      const had = olds === undefined ? undefined : { ...inputs, tls: olds ?? undefined };
      return ((await handler.check?.(had, inputs, HANDLER_CONTEXT)) ?? []).map(
        (each) => `${each.property}: ${each.reason}`,
      );
    };
    const good = { secretName: "certificate", hosts };
    expect(await refused(good)).toEqual([]);
    expect(await refused({ secretName: "damaged", hosts: [...hosts, "elsewhere"] }, good)).toEqual([
      "tls: Secret damaged: tls.key is not the key of tls.crt",
      expect.stringContaining("tls: Secret damaged: tls.crt does not name elsewhere; it names DNS:newer."),
    ]);
    expect(await refused(undefined, good)).toEqual([
      expect.stringContaining(
        "tls: TLS cannot be switched off while clients of newer work: a node with an encrypted cluster bus cannot talk",
      ),
    ]);
    expect(await refused(good, null)).toEqual([
      expect.stringContaining("tls: TLS cannot be switched on while clients of newer work"),
    ]);
    expect(await refused(good, null, { allowDowntime: true })).toEqual([]);
    expect(await refused(good, null, { allowDowntime: true, keepsData: false })).toEqual([
      expect.stringContaining("they keep no data on volumes"),
    ]);
    // A Secret that is made later is waited for.
    expect(await refused({ secretName: "later", hosts })).toEqual([]);
    const later = { ...limits, target: target("newer"), tls: { secretName: "later", hosts } };
    await expect(handler.create(later, HANDLER_CONTEXT)).rejects.toThrow(/Secret later .* does not exist/);
    const made = handler.create({ ...later, timeoutSeconds: 30 }, HANDLER_CONTEXT);
    await publish("later", files);
    expect((await made).outputs).toEqual({ secret: `${here.namespace}/later` });
  });
});
