import tseslint from "typescript-eslint";

// The arrows of the house run one way: stacks → components → benchmarks.
const noImportsFrom = (rooms, why) => ({
  "no-restricted-imports": ["error", { patterns: [{ regex: `(^|/)(${rooms.join("|")})(/|$)`, message: why }] }],
});

export default tseslint.config(
  { ignores: ["node_modules/", ".cache/", "results/", "*.mjs", "*.mts"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "no-console": "error",
      eqeqeq: "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/explicit-module-boundary-types": "error",
    },
  },
  {
    files: ["benchmarks/**/*.ts"],
    rules: noImportsFrom(["stacks", "components", "@pulumi"], "benchmarks/ knows no stack, no component and no Pulumi"),
  },
  {
    files: ["components/**/*.ts"],
    rules: noImportsFrom(["stacks", "@pulumi/(aws|awsx|eks)"], "components/ knows no stack, and only components/eks/ loads AWS"),
  },
  {
    files: ["components/eks/**/*.ts"],
    rules: noImportsFrom(["stacks"], "components/ reads no configuration and knows no stack"),
  },
  {
    files: ["components/eks/plan/**/*.ts"],
    rules: noImportsFrom(["stacks", "@pulumi"], "plans are plain data: no stack, no Pulumi"),
  },
  {
    files: ["policies/**/*.ts"],
    rules: noImportsFrom(["stacks", "components", "benchmarks"], "policies/ judges what is declared, whoever declares it"),
  },
);
