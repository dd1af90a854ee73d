import { describe, expect, it } from "vitest";
import { formatConfigFile, toDirectives } from "../../../valkey/settings/settings";
import { formatBytes, formatDuration, formatMs, parseSize } from "../../../lib/units";

describe("server settings", () => {
  it("become directives as CONFIG GET prints them, and lines of a valkey.conf", () => {
    const values = toDirectives({
      maxmemory: 268_435_456,
      appendonly: false,
      save: "",
      "io-threads": 1,
      "min-replicas-to-write": undefined,
      "client-output-buffer-limit": "normal 0 0 0",
      hz: 10,
      activedefrag: true,
    });
    expect(formatConfigFile(values)).toBe(
      'maxmemory 268435456\nappendonly no\nsave ""\nio-threads 1\nclient-output-buffer-limit normal 0 0 0\nhz 10\nactivedefrag yes\n',
    );
  });
});

describe("units", () => {
  it("are parsed as in valkey.conf", () => {
    expect(["0", "1024", "256mb", "1gb", "1g", "10K", " 5 MB "].map(parseSize)).toEqual([
      0,
      1024,
      2 ** 28,
      2 ** 30,
      1e9,
      10_000,
      5 * 2 ** 20,
    ]);
    expect(["", "mb", "-1", "1.5gb", "1tb"].map(parseSize)).toEqual(Array.from({ length: 5 }, () => undefined));
  });

  it("are formatted for readers", () => {
    expect([0, 1023, 1536, 268_435_456, 2 ** 45].map(formatBytes)).toEqual([
      "0 B",
      "1023 B",
      "1.5 KiB",
      "256 MiB",
      "32.0 TiB",
    ]);
    expect([0, 59.9, 60, 3725, 90_000].map(formatDuration)).toEqual(["0s", "59s", "1m 00s", "1h 02m", "1d"]);
    expect([0.5674, 12.34, 1850.4].map(formatMs)).toEqual(["0.567", "12.3", "1850"]);
  });
});
