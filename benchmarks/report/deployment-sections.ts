/** The topology and the verification of a deployment, as sections of the report. Pure. */
import { formatCount } from "../../lib/units";
import type { MeasuredTopology } from "../results/schema";
import { colourOf } from "./chart-base";
import type { Html } from "./html";
import { html } from "./html";

/** Shows the nodes of a deployment, with one column for each zone. All nodes of a shard have the same color. */
export function topologySection(record: MeasuredTopology): Html {
  const zones = [...new Set(record.nodes.map(({ zone }) => zone ?? "unknown zone"))].sort();
  const shardOf = (name: string): number =>
    record.shards.findIndex(({ primary, replicas }) => primary === name || replicas.includes(name));
  const node = ({ name, role, keysAfter }: MeasuredTopology["nodes"][number]): Html => {
    const shard = shardOf(name);
    const slots =
      role === "primary" && record.mode === "cluster"
        ? html`<small>slots ${record.shards[shard]?.slots ?? ""}</small>`
        : undefined;
    const keys =
      role === "primary" && keysAfter !== null ? html`<small>${formatCount(keysAfter)} keys</small>` : undefined;
    const follows =
      role === "replica" ? html`<small>of ${record.shards[shard]?.primary ?? "unknown"}</small>` : undefined;
    return html`<li class="${role}" style="--shard: ${colourOf(shard)}">
      <b>${name}</b> ${role}${slots}${follows}${keys}
    </li>`;
  };
  return html`<section>
    <h2>Topology of ${record.deployment}</h2>
    <div class="zones">
      ${zones.map(
        (zone) =>
          html`<div class="zone">
            <h3>${zone}</h3>
            <ul>
              ${record.nodes.filter((each) => (each.zone ?? "unknown zone") === zone).map(node)}
            </ul>
          </div>`,
      )}
    </div>
    <p class="note">
      Each shard has a colour: its primary is filled, its replicas are
      outlined.${record.formationMs === null ? "" : ` Formed in ${(record.formationMs / 1000).toFixed(1)} s.`}
    </p>
  </section>`;
}

/** The verdict of the verification. Every assertion is shown with the expected value and the value that was found. */
export function verificationSection(record: MeasuredTopology): Html {
  return html`<section>
    <h2>
      Verification of ${record.deployment}:
      <span class="${record.verdict.pass ? "pass" : "fail"}">${record.verdict.pass ? "PASS" : "FAIL"}</span>
    </h2>
    <div class="scroll">
      <table class="assertions">
        <thead>
          <tr>
            <th></th>
            <th>Assertion</th>
            <th>Expected</th>
            <th>Found</th>
          </tr>
        </thead>
        <tbody>
          ${record.verdict.assertions.map(
            (each) =>
              html`<tr>
                <td class="${each.pass ? "pass" : "fail"}">${each.pass ? "✓" : "✗"}</td>
                <td>${each.what}</td>
                <td>${each.expected}</td>
                <td>${each.found}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}
