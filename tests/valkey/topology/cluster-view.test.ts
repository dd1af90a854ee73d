import { describe, expect, it } from "vitest";
import { ViewParser, ViewSyntaxError } from "../../../valkey/topology/cluster-view";
import { countSlots, SLOT_COUNT } from "../../../valkey/topology/slots";
import { fixture, fixtures } from "../../support/fixtures";

const parse = (name: string): ReturnType<ViewParser["parse"]> =>
  new ViewParser().parse(fixture(`cluster-nodes-${name}`));

describe.each(["8.0", "9.1"])("CLUSTER NODES of Valkey %s", (version) => {
  it("of a formed cluster: three primaries with all slots, three replicas, all healthy", () => {
    const view = parse(`${version}-formed`);
    const nodes = [...view.topology.nodes.values()];
    const primaries = nodes.filter((node) => node.role === "primary");
    expect(nodes).toHaveLength(6);
    expect(countSlots(primaries.flatMap((node) => node.slots))).toBe(SLOT_COUNT);
    expect(new Set(nodes.flatMap((node) => node.primaryId ?? []))).toEqual(new Set(primaries.map((node) => node.id)));
    expect(view.topology.nodes.has(view.selfId)).toBe(true);
    expect([view.unhealthy, view.unlinked, view.openSlots]).toEqual([[], [], []]);
  });

  it("of a slot that is migrating and imported", () => {
    const out = parse(`${version}-migrating`);
    const into = parse(`${version}-importing`);
    expect(out.openSlots).toEqual([{ slot: 42, direction: "migrating", peerId: into.selfId }]);
    expect(into.openSlots).toEqual([{ slot: 42, direction: "importing", peerId: out.selfId }]);
    expect(out.topology.fingerprint).toBe(into.topology.fingerprint);
  });

  it("of a node that announces a host name", () => {
    const view = parse(`${version}-hostname`);
    expect(view.topology.nodes.get(view.selfId)?.address.hostname).toBe("valkey-0.example.internal");
  });

  it("of a node in handshake", () => {
    const view = parse(`${version}-handshake`);
    const [shaking] = view.unhealthy;
    expect(shaking?.flag).toBe("handshake");
    expect(view.unlinked).toEqual([shaking?.id]);
    expect(view.topology.nodes.get(shaking?.id ?? "")?.address).toEqual({
      host: "127.0.0.1",
      port: 9,
      hostname: undefined,
    });
  });

  it("of a node that is suspected, then failed", () => {
    expect(parse(`${version}-suspected`).unhealthy.map(({ flag }) => flag)).toEqual(["suspected"]);
    expect(parse(`${version}-failed`).unhealthy.map(({ flag }) => flag)).toEqual(["failed"]);
  });

  it("of a node without an address", () => {
    const view = parse(`${version}-noaddr`);
    expect(view.unhealthy.map(({ flag }) => flag)).toEqual(["failed", "no-address"]);
    expect(view.topology.nodes.get(view.unhealthy[0]?.id ?? "")?.address).toEqual({
      host: "",
      port: 0,
      hostname: undefined,
    });
  });

  it("of a node that knows no others, nor its own address", () => {
    const view = parse(`${version}-alone`);
    expect([...view.topology.nodes.keys()]).toEqual([view.selfId]);
    expect(view.topology.nodes.get(view.selfId)?.address.host).toBe("");
  });
});

describe("ViewParser", () => {
  it("keeps equal topologies once, whatever the order, the times and the health of the lines", () => {
    const parser = new ViewParser();
    const text = fixture("cluster-nodes-9.1-formed");
    const first = parser.parse(text);
    const second = parser.parse(
      text
        .trim()
        .split("\n")
        .reverse()
        .join("\n")
        .replaceAll(/ 0 \d+ /g, " 5 9 "),
    );
    expect(second.topology).toBe(first.topology);
    expect(second.addresses).toBe(first.addresses);
    const moved = parser.parse(text.replace(/ 127\.0\.0\.1:\d+@/, " 127.0.0.1:1@"));
    expect(moved.topology).toBe(first.topology);
    expect([...moved.addresses.values()].filter(({ port }) => port === 1)).toHaveLength(1);
  });

  it("distinguishes topologies by epoch, role and slots", () => {
    const text = fixture("cluster-nodes-9.1-formed");
    const fingerprint = (each: string): string => new ViewParser().parse(each).topology.fingerprint;
    const variants = [
      text,
      text.replace(" 6 connected 10922", " 7 connected 10922"),
      text.replace("0-5460", "0-5459"),
      text.replace(/slave [0-9a-f]{40}/, "master -"),
    ];
    expect(new Set(variants.map(fingerprint)).size).toBe(variants.length);
  });

  it.each([
    ["", /no line has the flag myself/],
    ["hello", /fewer than 8 fields/],
    [fixture("cluster-nodes-9.1-formed").replaceAll("myself,", ""), /no line has the flag myself/],
    [fixture("cluster-nodes-9.1-formed").replace(" connected ", " linked "), /link state is unknown/],
    [fixture("cluster-nodes-9.1-formed").replace("0-5460", "0-54600"), /not a slot range/],
    [fixture("cluster-nodes-9.1-migrating").replace("[42->-", "[42=>-"), /mark of a slot has an unknown format/],
  ])("rejects text in another format: %#", (text, message) => {
    expect(() => new ViewParser().parse(text)).toThrow(message);
  });

  it("throws a ViewSyntaxError", () => {
    expect(() => new ViewParser().parse("x y z - 0 0 1 connected")).toThrow(ViewSyntaxError);
  });

  it("parses every fixture", () => {
    const names = fixtures("cluster-nodes-");
    expect(names.length).toBeGreaterThanOrEqual(18);
    for (const name of names) expect(() => new ViewParser().parse(fixture(name))).not.toThrow();
  });
});
