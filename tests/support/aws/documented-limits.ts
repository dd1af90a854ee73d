/** Limits that AWS' models state in their documentation only, and how they are read from it. */
import type { Reference } from "./shapes";

type Limits = Pick<Reference, "enum" | "pattern" | "min" | "max">;
type Reader = (documentation: string) => Limits | undefined;

const words = (text: string): string[] => text.split(/,? and |, /);

const listed =
  (before: RegExp, as: (word: string) => string | number): Reader =>
  (text) => {
    const values = new RegExp(`${before.source} ([^.]+)\\.`).exec(text)?.[1];
    return values === undefined ? undefined : { enum: words(values).map(as) };
  };

const group = (text: string, pattern: RegExp): number | undefined => {
  const value = pattern.exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
};

const most =
  (pattern: RegExp, more: Limits = {}): Reader =>
  (text) => {
    const max = group(text, pattern);
    return max === undefined ? undefined : { max, ...more };
  };

const securityGroupText = most(/Up to (\d+) characters in length/, {
  pattern: String.raw`[a-zA-Z0-9 ._\-:\/()#,@\[\]+=&;{}!$*]+`,
});

/** By service, structure and member. A reader returns undefined where the documentation reads otherwise. */
export const DOCUMENTED: Readonly<Record<string, Reader>> = {
  "logs.PutRetentionPolicyRequest.retentionInDays": listed(/Possible values are:/, Number),
  "sqs.CreateQueueRequest.QueueName": most(/can have up to (\d+) characters/, { pattern: "[a-zA-Z0-9_-]+(\\.fifo)?" }),
  "eks.CreateAccessEntryRequest.type": listed(/Valid values are/, (word) => word.replace(/ \(.*\)$/, "")),
  "ec2.CreateSecurityGroupRequest.Description": securityGroupText,
  "ec2.CreateSecurityGroupRequest.GroupName": securityGroupText,
  "ec2.Tag.Key": most(/maximum of (\d+) Unicode characters. May not begin with aws:/, { pattern: "(?!aws:).*" }),
  "ec2.Tag.Value": most(/maximum of (\d+) Unicode characters/),
  "ec2.LaunchTemplateInstanceMetadataOptionsRequest.HttpPutResponseHopLimit": (text) => {
    const max = group(text, /Integers from 1 to (\d+)/);
    return max === undefined ? undefined : { min: 1, max };
  },
  "kms.ScheduleKeyDeletionRequest.PendingWindowInDays": (text) => {
    const [, min, max] = /between (\d+) and (\d+), inclusive/.exec(text) ?? [];
    return min === undefined || max === undefined ? undefined : { min: Number(min), max: Number(max) };
  },
};
