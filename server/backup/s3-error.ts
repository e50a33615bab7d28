/** Where an S3 request went. */
type Target = { bucket: string; key: string; host: string };

/** What to check, by the code of the service or of Bun. */
const advice: [RegExp, string][] = [
  [
    /^(?:AccessDenied|Forbidden|AllAccessDisabled)$/,
    "The access key needs the permissions s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket for this bucket.",
  ],
  [
    /^(?:InvalidAccessKeyId|SignatureDoesNotMatch|ERR_S3_MISSING_CREDENTIALS|ERR_S3_INVALID_SIGNATURE)$/,
    "Check TIDINGS_S3_ACCESS_KEY_ID and TIDINGS_S3_SECRET_ACCESS_KEY.",
  ],
  [/^NoSuchBucket$/, "Create the bucket, or correct its name."],
  [
    /^(?:PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException)$/,
    "Check TIDINGS_S3_REGION and TIDINGS_S3_ENDPOINT: the bucket is elsewhere.",
  ],
  [/^RequestTimeTooSkewed$/, "Correct this machine's clock."],
  [
    /^(?:ConnectionRefused|ConnectionClosed|DNSResolveFailed|FailedToOpenSocket|.*TIMEOUT.*|.*Timeout|.*CERT.*)$/,
    "Check TIDINGS_S3_ENDPOINT, and that this machine can reach it.",
  ],
];

/** Explains a failed S3 request: what was asked, of which bucket and host, the code of the service, and what to check. */
export async function explainingS3<Result>(
  doing: "list" | "write" | "read" | "delete",
  { bucket, key, host }: Target,
  request: () => Promise<Result>,
): Promise<Result> {
  try {
    return await request();
  } catch (error) {
    const { code = "no code", message } = error as { code?: string; message: string };
    const check =
      advice.find(([pattern]) => pattern.test(code))?.[1] ?? "The service's own log may say more.";
    throw new Error(
      `Can't ${doing} s3://${bucket}/${key} at ${host}: ${message.trim().replace(/\.$/, "")} (${code}). ${check}`,
      { cause: error },
    );
  }
}
