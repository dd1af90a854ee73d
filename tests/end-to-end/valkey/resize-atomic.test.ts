/** A cluster of real servers that is resized by atomic slot migrations while clients write to it and read from it. */
import { describe } from "vitest";
import { realPrograms } from "../../support/valkey/real";
import { resizingTests } from "../../support/valkey/resizing-tests";

describe("resizing with atomic slot migration", () => {
  resizingTests(true, realPrograms);
});
