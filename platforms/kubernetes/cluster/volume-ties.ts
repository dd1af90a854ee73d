/** Ties of volumes to machines: can a pod on a different machine use the volume? Pure. */
import type { V1PersistentVolume } from "@kubernetes/client-node";
import type { Plain } from "../api/plain";
import type { MachineState } from "./machine-states";

/**
 * Tie of a volume to machines.
 *
 * - `machine`: only one machine can use the volume, so the data of a lost machine are lost too.
 * - `exclusive`: other machines can use the volume, but only one machine at a time, because a driver attaches it.
 * - `shared`: other machines can use the volume, and nothing prevents that two machines write to it.
 */
export type VolumeTie =
  | { readonly kind: "machine"; readonly machine: string }
  | { readonly kind: "exclusive" }
  | { readonly kind: "shared" };

/**
 * Last parts of labels that name one machine, such as `kubernetes.io/hostname` and `topology.hostpath.csi/node`. Labels
 * of zones and regions never tie a volume to a machine, even if a zone has only one machine at the moment.
 */
const MACHINE_LABEL = /\/(hostname|node|nodename|node-name)$/i;
/** Finalizer of volumes that a CSI driver attaches to machines. Drivers that attach nothing do not set it. */
const ATTACHER = /^external-attacher\//;
const ONE_MACHINE_MODES: ReadonlySet<string> = new Set(["ReadWriteOnce", "ReadWriteOncePod"]);

/** Finds which machines can use a volume. @param machines all machines that exist */
export function volumeTie({ metadata, spec }: Plain<V1PersistentVolume>, machines: readonly MachineState[]): VolumeTie {
  const names = new Set(
    (spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []).map((term): string | undefined => {
      const expressions = [...(term.matchExpressions ?? []), ...(term.matchFields ?? [])];
      const found = expressions.find(
        ({ key, operator, values = [] }) =>
          operator === "In" && values.length === 1 && (MACHINE_LABEL.test(key) || key === "metadata.name"),
      );
      const [value] = found?.values ?? [];
      // The label's value can differ from the machine's name, so the machine with this label is looked up. A machine
      // that is gone has no labels any more, so the value itself is used.
      return machines.find(({ labels }) => value !== undefined && labels[found?.key ?? ""] === value)?.name ?? value;
    }),
  );
  const [machine] = names;
  if (names.size === 1 && machine !== undefined) return { kind: "machine", machine };
  const isAttached = (metadata?.finalizers ?? []).some((each) => ATTACHER.test(each));
  const modes = spec?.accessModes ?? [];
  return isAttached && modes.length > 0 && modes.every((mode) => ONE_MACHINE_MODES.has(mode))
    ? { kind: "exclusive" }
    : { kind: "shared" };
}
