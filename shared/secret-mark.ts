/** The mark that shows in the audit log that a secret changed. */
import { hash } from "node:crypto";

/** 24 bits: enough to notice a change, too few to find the secret by. */
export function secretMark(secret: string): string {
  return hash("sha256", secret, "base64url").slice(0, 4);
}
