/** Schemas of the keys that say how a pod reaches an S3 bucket. */
import { z } from "zod";
import { objectName } from "./pod-options";

/** Schema of the URL of an S3 server. */
export const endpointSchema = z.string().optional().meta({
  description: "URL of an S3 server, such as `https://minio.example.com:9000`.",
  fallback: "AWS",
});

/** Schema of the Secret with a pod's keys for the bucket. */
export const credentialsSchema = z
  .strictObject({
    secretName: objectName.meta({
      description: "Name of a Secret in the namespace with the keys `accessKeyId` and `secretAccessKey`.",
    }),
  })
  .optional()
  .meta({
    description: "Keys for the bucket (platforms `kubernetes` and `eks`). Cannot be set together with `role`.",
    fallback: "`role`, or EKS Pod Identity",
  });

/** Schema of a pod's role. @param serviceAccount name of the pod's service account */
export function roleSchema(serviceAccount: string): z.ZodOptional<z.ZodString> {
  return z
    .string()
    .optional()
    .meta({
      description: `ARN of an IAM role that the pod takes (IRSA). Its trust policy must allow the service account \`${serviceAccount}\`.`,
      fallback: "`credentials`, or EKS Pod Identity",
    });
}
