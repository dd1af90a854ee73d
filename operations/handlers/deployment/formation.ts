/** The formation of a cluster, and the end of former passwords, for which pods and clients need the longest. */
import { inParts } from "../../protocol/in-parts";
import { type ClusterFormationInputs, type ClusterFormationOutputs, handler as cluster } from "./cluster-formation";
import { handler as passwords, type PasswordRetirementInputs } from "./password-retirement";

export type FormationInputs = ClusterFormationInputs & PasswordRetirementInputs;

export interface FormationOutputs {
  readonly cluster: ClusterFormationOutputs;
  readonly passwords: object;
}

export const handler = inParts<FormationInputs, FormationOutputs>({ cluster, passwords });
