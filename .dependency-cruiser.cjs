/**
 * The order of rooms and of their folders: a room or folder imports only from those after it in scripts/rooms.json, and
 * no two files import each other.
 * `docs/architecture.md` draws the order and says what each room is for.
 */
const ALL = require("./scripts/rooms.json");
const ROOMS = Object.keys(ALL);
/** Rooms that work without a Pulumi engine. */
const WITHOUT_PULUMI = ["cli", "backup", "benchmarks", "faults", "platforms", "valkey", "model", "lib"];
/** Folders of the repository that are no rooms of the program. */
const OUTSIDE = ["bench", "examples", "policies", "scripts", "tests"];

const folder = (names) => `^(${names.join("|")})/`;
/** Files that lie directly in one of the folders. */
const directlyIn = (names) => `^(${names.join("|")})/[^/]+$`;

const upwards = ROOMS.slice(1).map((room, index) => ({
  name: `${room}-imports-no-room-above-it`,
  comment: `${room}/ may import ${[room, ...ROOMS.slice(index + 2)].join(", ")}.`,
  severity: "error",
  from: { path: folder([room]) },
  to: { path: folder(ROOMS.slice(0, index + 1)) },
}));

const upwardsInRooms = Object.values(ALL).flatMap(({ folders }) =>
  folders.slice(1).map((name, index) => ({
    name: `${name}-imports-no-folder-above-it`,
    comment: `Files in ${name}/ must not import from ${folders.slice(0, index + 1).join(", ")}.`,
    severity: "error",
    from: { path: directlyIn([name]) },
    to: { path: directlyIn(folders.slice(0, index + 1)) },
  })),
);

module.exports = {
  forbidden: [
    ...upwards,
    ...upwardsInRooms,
    {
      name: "every-folder-is-a-room",
      comment: "A TypeScript file lies in a room of ROOMS or in a folder of OUTSIDE.",
      severity: "error",
      from: { path: "^[^/]+/", pathNot: [folder([...ROOMS, ...OUTSIDE]), "^node_modules/"] },
      to: {},
    },
    {
      name: "no-circles",
      comment: "No two files import each other, also not by types.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-tests-or-measurements-in-the-program",
      severity: "error",
      from: { path: folder([...ROOMS, "policies"]) },
      to: { path: folder(["bench", "tests"]) },
    },
    {
      name: "policies-stand-alone",
      comment: "Policies judge what is declared, whichever program declares it. They share lib/ with the rooms.",
      severity: "error",
      from: { path: folder(["policies"]) },
      to: { path: folder(ROOMS.filter((room) => room !== "lib")) },
    },
    {
      name: "no-pulumi-below-the-provider",
      comment: `${WITHOUT_PULUMI.join(", ")} work and are tested without a Pulumi engine.`,
      severity: "error",
      from: { path: folder(WITHOUT_PULUMI) },
      to: { path: "^node_modules/@pulumi/" },
    },
    {
      name: "no-pulumi-in-operations-outside-the-provider",
      comment: "The controller's pod and the tests of handlers load no Pulumi.",
      severity: "error",
      from: { path: "^operations/", pathNot: "^operations/(provider/|protocol/engine-values)" },
      to: { path: "^node_modules/@pulumi/" },
    },
    {
      name: "no-pulumi-in-configuration-and-plans",
      comment: "Configuration and plans are plain data; only stacks/program runs in an engine.",
      severity: "error",
      from: { path: "^stacks/", pathNot: "^stacks/program/" },
      to: { path: "^node_modules/@pulumi/" },
    },
    {
      name: "backups-measure-and-break-nothing",
      comment: "backup/ stands beside benchmarks/ and faults/.",
      severity: "error",
      from: { path: folder(["backup"]) },
      to: { path: folder(["benchmarks", "faults"]) },
    },
    {
      name: "only-eks-loads-aws",
      comment: "Loading the AWS SDK takes seconds; only stacks on EKS need it.",
      severity: "error",
      from: { path: folder(ROOMS), pathNot: "^components/eks/" },
      to: { path: "^node_modules/@pulumi/(aws|awsx|eks)/" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(node_modules/(?!@pulumi)|\\.cache|dist|results)" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { extensions: [".ts", ".js", ".json"] },
  },
};
