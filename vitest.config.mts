import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "pure",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/real/**"],
          testTimeout: 20_000,
        },
      },
      {
        // Real servers share the machine: one file after the other, when nothing else runs.
        test: {
          name: "real",
          include: ["tests/real/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
