/** The environment of a run as a section of the report. Pure. */
import { formatBytes, formatCount } from "../../lib/units";
import type { Results } from "../results/schema";
import type { Html } from "./html";
import { html } from "./html";

/** Describes the machines of a Kubernetes cluster, with one entry for all machines of the same kind. */
function machinesOf({ machines }: Results["environment"]): [string, string][] {
  const kinds = new Map<string, string[]>();
  for (const { name, zone, instanceType, cores, memoryBytes, platform, kernel, system } of machines) {
    const size = `${instanceType ?? "machine"}, ${cores} cores, ${formatBytes(memoryBytes)}`;
    const kind = `${size}, ${platform}, ${system}, kernel ${kernel}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), zone === null ? name : `${name} in ${zone}`]);
  }
  return [...kinds].map(([kind, names]) => ["Kubernetes", `${names.length} × ${kind}: ${names.join(", ")}`]);
}

/** The machine, versions, kernel settings and configuration of the run. */
export function environmentSection({ environment: machine, configuration, referenceLoads }: Results): Html {
  const rows: [string, string][] = [
    [
      "Machine",
      `${machine.cpuModel}, ${machine.coresAvailable} of ${machine.cores} cores, ${formatBytes(machine.memoryBytes)}`,
    ],
    ["System", `${machine.platform}, kernel ${machine.kernel}, Node ${machine.node}`],
    ...machinesOf(machine),
    [
      "Valkey",
      machine.programs === null
        ? "not started by this program"
        : `${machine.programs.version} from ${machine.programs.source}`,
    ],
    [
      "Kernel settings",
      [
        `transparent huge pages ${machine.transparentHugePages ?? "unknown"}`,
        `overcommit_memory ${machine.overcommitMemory ?? "unknown"}`,
        `somaxconn ${machine.somaxconn ?? "unknown"}`,
        `governor ${machine.governor ?? "unknown"}`,
      ].join(", "),
    ],
    ["Load average before the run", machine.loadAverage.map((load) => load.toFixed(2)).join(", ")],
    [
      "Reference load",
      referenceLoads.length === 0
        ? "not measured"
        : `${referenceLoads.map(({ rps }) => formatCount(rps)).join(", ")} PING/s`,
    ],
  ];
  return html`<section>
    <h2>Environment</h2>
    <div class="scroll">
      <table>
        ${rows.map(
          ([name, value]) =>
            html`<tr>
              <th>${name}</th>
              <td>${value}</td>
            </tr>`,
        )}
      </table>
    </div>
    <details>
      <summary>Configuration</summary>
      <pre>${JSON.stringify(configuration, null, 2)}</pre>
    </details>
  </section>`;
}
