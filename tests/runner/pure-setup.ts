/**
 * Pure tests are the same on every machine. Properties are drawn from one seed: `VALKEY_TEST_SEED=random npm test` draws
 * others, and a failure prints its seed. There is no Kubernetes: the SDK reads this variable into each program's provider.
 */
import fc from "fast-check";

const SEED = 1;
const wanted = process.env["VALKEY_TEST_SEED"];
if (wanted !== "random") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted ?? SEED) });
delete process.env["KUBECONFIG"];
