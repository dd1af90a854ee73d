/**
 * Facts that IAM decides on for each call of Karpenter's: actions, resources and condition keys, by AWS' Service
 * Authorization Reference. Pure.
 *
 * A recording has the calls without their answers, so this is assumed:
 * - Machines have the tags of the last fleet before, and templates that are named by their id those of the last template;
 *   those of one controller differ by their pool and class only.
 * - A machine, volume and interface is tagged by the fleet's or, where that says nothing of its type, by its template.
 * - A fleet is checked as `ec2:CreateFleet` and as `ec2:RunInstances`, for every resource that each may concern.
 * - Images, snapshots, subnets and security groups have no tags that a policy asks for.
 * - `iam:PassRole` is for EC2. `iam:TagInstanceProfile` is not checked where a profile is made with its tags: the
 *   conditions of Karpenter's own template, on tags of a profile that is not there yet, would refuse it.
 */
import { ACCOUNT_ID } from "../pulumi/eks";
import type { PolicyRequest } from "./policy-simulation";
import { type RecordedCall, listOf, objectsOf, tagsOf } from "./recorded-calls";

export interface CallRequest extends PolicyRequest {
  readonly call: RecordedCall;
}

type Tags = Readonly<Record<string, string>>;
type Request = Omit<PolicyRequest, "context"> & { readonly context?: PolicyRequest["context"] };

type TagsByType = Readonly<Record<string, Tags>>;

const tagSpecifications = (parameters: RecordedCall["parameters"], name: string): TagsByType =>
  Object.fromEntries(
    objectsOf(parameters, name).map((each) => [each["ResourceType"] ?? "", tagsOf(each, "Tag")] as const),
  );

const prefixed = (prefix: string, tags: Tags): Record<string, string> =>
  Object.fromEntries(Object.entries(tags).map(([key, value]) => [`${prefix}/${key}`, value]));
const asked = (tags: Tags): PolicyRequest["context"] => ({
  ...prefixed("aws:RequestTag", tags),
  "aws:TagKeys": Object.keys(tags),
});
const carried = (tags: Tags): PolicyRequest["context"] => prefixed("aws:ResourceTag", tags);

interface LaunchTemplate {
  readonly tags: Tags;
  readonly tagsByType: TagsByType;
  readonly profile: string;
}

interface Profile {
  readonly path: string;
  readonly tags: Tags;
  readonly role?: string | undefined;
}

class Account {
  readonly #templates = new Map<string, LaunchTemplate>();
  readonly #profiles = new Map<string, Profile>();
  #machineTags: Tags = {};

  requestsOf(call: RecordedCall): Request[] {
    const { service, operation, region, parameters } = call;
    if (service === "ec2") return this.#ec2(operation, region, parameters);
    if (service === "iam") return this.#iam(operation, parameters);
    const only = (resource: string): Request[] => [{ action: `${service}:${operation}`, resource }];
    switch (service) {
      case "eks":
        return only(`arn:aws:eks:${region}:${ACCOUNT_ID}:cluster/${parameters["name"] ?? ""}`);
      case "sqs": {
        const queue = parameters["QueueName"] ?? parameters["QueueUrl"]?.split("/").at(-1) ?? "";
        return only(`arn:aws:sqs:${region}:${ACCOUNT_ID}:${queue}`);
      }
      case "ssm":
        // Parameters of AWS' own are in no account.
        return only(`arn:aws:ssm:${region}::parameter${parameters["Name"] ?? ""}`);
      case "pricing":
        return only("*");
      default:
        throw new Error(`${service}:${operation} is a call that is not understood`);
    }
  }

  #ec2(operation: string, region: string, parameters: RecordedCall["parameters"]): Request[] {
    const arn = (kind: string, id: string): string => `arn:aws:ec2:${region}:${ACCOUNT_ID}:${kind}/${id}`;
    if (operation.startsWith("Describe")) return [{ action: `ec2:${operation}`, resource: "*" }];
    switch (operation) {
      case "CreateLaunchTemplate": {
        const { "launch-template": tags = {} } = tagSpecifications(parameters, "TagSpecification");
        this.#templates.set(parameters["LaunchTemplateName"] ?? "", {
          tags,
          tagsByType: tagSpecifications(parameters, "LaunchTemplateData.TagSpecification"),
          profile: parameters["LaunchTemplateData.IamInstanceProfile.Name"] ?? "",
        });
        return this.#creation("ec2:CreateLaunchTemplate", arn("launch-template", "lt-1"), tags);
      }
      case "DeleteLaunchTemplate":
        return [
          {
            action: "ec2:DeleteLaunchTemplate",
            resource: arn("launch-template", "lt-1"),
            context: carried(
              this.#template(parameters["LaunchTemplateName"] ?? [...this.#templates.keys()].at(-1)).tags,
            ),
          },
        ];
      case "CreateFleet": {
        const name = parameters["LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName"];
        const spot = parameters["TargetCapacitySpecification.DefaultTargetCapacityType"] === "spot";
        const { fleet = {}, ...byType } = tagSpecifications(parameters, "TagSpecification");
        return [
          ...this.#creation("ec2:CreateFleet", arn("fleet", "fleet-1"), fleet),
          ...["ec2:CreateFleet", "ec2:RunInstances"].flatMap((action) =>
            this.#machine(action, region, this.#template(name), byType, spot),
          ),
        ];
      }
      case "RunInstances":
        return this.#machine(
          "ec2:RunInstances",
          region,
          this.#template(parameters["LaunchTemplate.LaunchTemplateName"]),
          tagSpecifications(parameters, "TagSpecification"),
          false,
        );
      case "CreateTags":
        return listOf(parameters, "ResourceId").map((id) => ({
          action: "ec2:CreateTags",
          resource: arn("instance", id),
          context: { ...carried(this.#machineTags), ...asked(tagsOf(parameters, "Tag")) },
        }));
      case "TerminateInstances":
        return listOf(parameters, "InstanceId").map((id) => ({
          action: "ec2:TerminateInstances",
          resource: arn("instance", id),
          context: carried(this.#machineTags),
        }));
      default:
        throw new Error(`ec2:${operation} is a call that is not understood`);
    }
  }

  #machine(action: string, region: string, template: LaunchTemplate, own: TagsByType, spot: boolean): Request[] {
    const arn = (kind: string, account = ACCOUNT_ID): string => `arn:aws:ec2:${region}:${account}:${kind}/${kind}-1`;
    const byType = { ...template.tagsByType, ...own };
    this.#machineTags = byType["instance"] ?? {};
    const isFleet = action === "ec2:CreateFleet";
    const untagged = isFleet ? ["subnet"] : ["security-group", "subnet"];
    const tagged = isFleet
      ? ["instance", "volume"]
      : ["instance", "volume", "network-interface", ...(spot ? ["spot-instances-request"] : [])];
    const { role } = this.#profile(template.profile);
    return [
      ...(isFleet ? ["image"] : ["image", "snapshot"]).map((kind) => ({ action, resource: arn(kind, "") })),
      ...untagged.map((kind) => ({ action, resource: arn(kind) })),
      { action, resource: arn("launch-template"), context: carried(template.tags) },
      ...tagged.flatMap((kind) => this.#creation(action, arn(kind), byType[kind] ?? {})),
      ...(role === undefined ? [] : [this.#passRole(role)]),
    ];
  }

  #creation(action: string, resource: string, tags: Tags): Request[] {
    const tagging = { action: "ec2:CreateTags", resource };
    return [
      { action, resource, context: asked(tags) },
      ...(Object.keys(tags).length === 0
        ? []
        : [{ ...tagging, context: { ...asked(tags), "ec2:CreateAction": action.replace("ec2:", "") } }]),
    ];
  }

  #iam(operation: string, parameters: RecordedCall["parameters"]): Request[] {
    const name = parameters["InstanceProfileName"] ?? "";
    const action = `iam:${operation}`;
    if (operation === "CreateInstanceProfile") {
      const profile = { path: parameters["Path"] ?? "/", tags: tagsOf(parameters, "Tags.member") };
      this.#profiles.set(name, profile);
      return [{ action, resource: profileArn(profile.path, name), context: asked(profile.tags) }];
    }
    if (operation === "ListInstanceProfiles")
      return [{ action, resource: profileArn(parameters["PathPrefix"] ?? "/", "*") }];
    const profile = this.#profile(name);
    const changed = { action, resource: profileArn(profile.path, name), context: carried(profile.tags) };
    switch (operation) {
      case "GetInstanceProfile":
      case "RemoveRoleFromInstanceProfile":
      case "DeleteInstanceProfile":
        return [changed];
      case "AddRoleToInstanceProfile": {
        const role = parameters["RoleName"] ?? "";
        this.#profiles.set(name, { ...profile, role });
        return [changed, this.#passRole(role)];
      }
      default:
        throw new Error(`${action} is a call that is not understood`);
    }
  }

  #passRole(role: string): Request {
    return {
      action: "iam:PassRole",
      resource: `arn:aws:iam::${ACCOUNT_ID}:role/${role}`,
      context: { "iam:PassedToService": "ec2.amazonaws.com" },
    };
  }

  #template(name = ""): LaunchTemplate {
    return this.#templates.get(name) ?? { tags: {}, tagsByType: {}, profile: "" };
  }

  #profile(name: string): Profile {
    return this.#profiles.get(name) ?? { path: "/", tags: {} };
  }
}

function profileArn(path: string, name: string): string {
  return `arn:aws:iam::${ACCOUNT_ID}:instance-profile${path}${name}`;
}

/** @param calls of one controller, from its start */
export function karpenterRequests(calls: readonly RecordedCall[]): CallRequest[] {
  const account = new Account();
  return calls.flatMap((call) =>
    account.requestsOf(call).map(({ action, resource, context }) => ({
      call,
      action,
      resource,
      context: { ...context, "aws:RequestedRegion": call.region },
    })),
  );
}
