/** Settings that a server does not have, that the deployment decides, or that its shape does not allow. Pure. */
import { didYouMean } from "../../lib/did-you-mean";
import type { Engine } from "./engines";
import type { ServerSettings } from "./settings";
import { minorVersion } from "./version";
import knownDirectives from "./known-directives.json";
import { RESERVED_DIRECTIVES } from "./reserved-directives";

/** Directive to the minor versions of Valkey that have it, oldest first. */
const KNOWN: Readonly<Record<string, readonly string[]>> = knownDirectives;
const VERSIONS = [...new Set(Object.values(KNOWN).flat())].sort();

const REPLICAS_NEEDED = "min-replicas-to-write";

/** The servers that are to take settings. */
export interface SettingsTarget {
  /** @default "valkey" */
  readonly engine?: Engine | undefined;
  /** Version, as a tag of an image begins with it; settings of an unknown version may be those of any. */
  readonly version?: string | undefined;
  /** Names that this package does not know and that the servers have nevertheless. @default none */
  readonly newerDirectives?: readonly string[] | undefined;
  /** Replicas of each primary. */
  readonly replicas: number;
}

/** A setting that cannot be had, and why. */
export interface SettingProblem {
  readonly name: string;
  readonly reason: string;
}

/** A problem for each setting that cannot be had. Only the values that depend on the shape are looked at. */
export function settingProblems(settings: ServerSettings, target: SettingsTarget): SettingProblem[] {
  const { replicas } = target;
  const needed = settings[REPLICAS_NEEDED] ?? 0;
  const unwritable = `with ${needed} no primary would accept writes; at most ${replicas}, the replicas of a primary`;
  return Object.keys(settings).flatMap((name) => {
    const reason = problemOf(name, target) ?? (name === REPLICAS_NEEDED && needed > replicas ? unwritable : undefined);
    return reason === undefined ? [] : [{ name, reason }];
  });
}

function problemOf(name: string, { engine = "valkey", version, newerDirectives = [] }: SettingsTarget) {
  const reserved = Object.hasOwn(RESERVED_DIRECTIVES, name) ? RESERVED_DIRECTIVES[name] : undefined;
  if (reserved !== undefined) return `the deployment decides this directive itself: ${reserved}`;
  // Directives of a module begin with its name and a dot. Other engines have directives and flags of their own.
  if (engine !== "valkey" || name.includes(".") || newerDirectives.includes(name)) return undefined;
  const versions = Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined;
  if (versions === undefined) {
    const [oldest = "", newest = ""] = [VERSIONS[0], VERSIONS.at(-1)];
    const range = `Valkey ${oldest} to ${newest} has no directive of this name`;
    const meant = didYouMean(name, settable());
    const nearest = meant === "" ? "." : `;${meant}`;
    return `${range}${nearest} A directive of a newer version is to be named in newerDirectives`;
  }
  const line = version === undefined ? undefined : minorVersion(version);
  if (line === undefined || !VERSIONS.includes(line) || versions.includes(line)) return undefined;
  return `Valkey ${line} does not have it; ${versions.join(" and ")} has`;
}

function settable(): string[] {
  return Object.keys(KNOWN).filter((name) => !Object.hasOwn(RESERVED_DIRECTIVES, name));
}
