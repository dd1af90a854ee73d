/** `valkey-measured/verification`: reads facts from every node of a deployment, and gives a verdict on them. */
export { openDeployment } from "../platforms/deployment-reference";
export type { DeploymentReference, EndpointReference, KubernetesReference } from "../platforms/deployment-reference";
export { connect } from "../valkey/connection";
export type { Connection } from "../valkey/connection";
export type { Deployment } from "../valkey/deployment";
export type { NodeAccess, DeploymentNode, Endpoint, Mode } from "../valkey/node";
export type { DeploymentFacts, NodeFacts, OptionalAssertion } from "../valkey/verification/facts";
export { formatVerification, verdictLine } from "../valkey/verification/format";
export { topologyOf } from "../valkey/verification/topology-record";
export type { TopologyRecord } from "../valkey/verification/topology-record";
export type { Verdict } from "../valkey/verification/verdict";
export { judgeFacts, verify, verifyUntilPass } from "../valkey/verification/verify";
export type { Verification } from "../valkey/verification/verify";
export { BadInput, Failure } from "../lib/errors";
