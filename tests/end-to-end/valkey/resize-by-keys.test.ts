/** A cluster of real servers of Valkey 8.1 that is resized key by key while clients write to it and read from it. */
import { describe } from "vitest";
import { olderPrograms } from "../../support/valkey/real";
import { resizingTests } from "../../support/valkey/resizing-tests";

describe("resizing key by key (Valkey 8.1)", () => {
  resizingTests(false, olderPrograms);
});
