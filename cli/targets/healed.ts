/** A deployment that `watch` verifies, and repairs with `--heal`. */
import type { HealedDeployment } from "../../controller/healer";
import type { Watched } from "../../controller/watch";

/** A deployment, with the functions by which a healer repairs it. */
export interface Healed extends Watched {
  readonly lock: HealedDeployment["lock"];
  readonly repair: HealedDeployment["repair"];
}
