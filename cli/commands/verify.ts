import { formatVerification, verificationJson } from "../../valkey/verification/format";
import { verify } from "../../valkey/verification/verify";
import { externalDeployment, refuseSameServers } from "../targets/external";
import { print } from "../terminal/terminal";
import type { OptionValues } from "../running/options";

export async function verifyServers(values: OptionValues): Promise<number> {
  const { deployment, without } = externalDeployment(values);
  await refuseSameServers(deployment);
  const verification = await verify(deployment, without);
  if (values["json"] === true) print(JSON.stringify(verificationJson(verification), null, 1));
  else print(...formatVerification(verification));
  return verification.verdict.pass ? 0 : 1;
}
