import { createHash } from "node:crypto";

const digits = 32;

/**
 * The id of a delivery's message for its receivers. It is the same for all attempts, and unique over installations,
 * also after a backup was restored, when numbers of deliveries begin anew.
 */
export function messageIdOf(
  installationId: string,
  { id, createdAt }: { id: number; createdAt: number },
): string {
  const hash = createHash("sha256").update(`${installationId} ${id} ${createdAt}`).digest("hex");
  return `msg_${hash.slice(0, digits)}`;
}
