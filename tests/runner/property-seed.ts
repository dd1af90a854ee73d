/**
 * Properties are drawn from one seed, so that a run of the tests is the same each time. `VALKEY_TEST_SEED=random npm
 * test` draws others; a failure prints its seed.
 */
import fc from "fast-check";

const SEED = 1;
const wanted = process.env["VALKEY_TEST_SEED"];
if (wanted !== "random") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted ?? SEED) });
