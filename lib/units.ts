const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Bytes as text: `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${BYTE_UNITS[unit] ?? "B"}`;
}

/** Whole seconds as text: `42s`, `3m 05s`, `2h 04m`, `12d`. */
export function formatDuration(seconds: number): string {
  const s = Math.floor(seconds);
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${String(s % 60).padStart(2, "0")}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")}m`;
  return `${Math.floor(s / 86_400)}d`;
}

export function formatList(names: readonly string[], most: number): string {
  return names.length <= most ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

export function formatCount(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** @param several plural of the noun. @default the singular and an s */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : several}`;
}

export function formatPercent(part: number): string {
  return `${Number((100 * part).toFixed(1))} %`;
}

/** A latency in milliseconds as text with about three digits: `0.567`, `12.3`, `1850`. */
export function formatMs(milliseconds: number): string {
  if (milliseconds < 10) return milliseconds.toFixed(3);
  return milliseconds < 1000 ? milliseconds.toFixed(1) : String(Math.round(milliseconds));
}

/** Bytes, as in valkey.conf: `256mb` (units of 2^20 bytes), `1g` (10^9 bytes), `1024`. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+)\s*(b|k|kb|m|mb|g|gb)?$/i.exec(text.trim());
  if (match === null) return undefined;
  const factors: Readonly<Record<string, number>> = {
    "": 1,
    b: 1,
    k: 1e3,
    kb: 1024,
    m: 1e6,
    mb: 1024 ** 2,
    g: 1e9,
    gb: 1024 ** 3,
  };
  return Number(match[1]) * (factors[(match[2] ?? "").toLowerCase()] ?? 1);
}

const DURATION_UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds in a text such as `90s`, `30m`, `2h` or `3d`; undefined for other texts. */
export function parseDuration(value: unknown): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([smhd])$/.exec(String(value).trim());
  const seconds = match === null ? 0 : Number(match[1]) * (DURATION_UNITS[match[2] ?? ""] ?? 0);
  return seconds > 0 ? seconds : undefined;
}
