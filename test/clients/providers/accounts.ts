/**
 * Several accounts of one provider: none of them reads what another one encrypted or signed. Also
 * the accounts of the matrix whose sessions move: `moved.anthropic.1` fails every second request,
 * so that `moved.anthropic.2` gets it.
 */
import { googleSignature } from "./google-answers.js";
import { signature } from "./messages-rules.js";
import { encrypted } from "./responses-rules.js";
import type { Json } from "./shape.js";

const secrets = new RegExp(`(?:${signature}|${encrypted})\\d+`, "g");
const ofAccounts = new RegExp(`(?:${signature}|${encrypted})\\d+[^"]*`, "g");

function googleSignatureOf(account: string): string {
  return Buffer.from(`signed by Gemini of ${account}`).toString("base64");
}

/** The JSON of an answer with the secrets of this account. */
export function withSecretsOf(account: string, json: string): string {
  return json
    .replace(secrets, `$&-${account}`)
    .replaceAll(googleSignature, googleSignatureOf(account));
}

/**
 * The error with which an account refuses a request with another one's secrets, or null. Sources:
 * pydantic/pydantic-ai#4621, anthropics/claude-code#10199, ai.google.dev "Thought signatures".
 */
export function foreignSecret(text: string, account: string): Json | null {
  const foreign = (text.match(ofAccounts) ?? []).find((each) => !each.endsWith(`-${account}`));
  if (foreign?.startsWith(encrypted) === true)
    return {
      message: "The encrypted content for item rs_1 could not be verified.",
      code: "invalid_encrypted_content",
    };
  if (foreign !== undefined)
    return { message: "messages.1.content.0: Invalid `signature` in `thinking` block" };
  const signed = [...text.matchAll(/"thought(?:S|_s)ignature":"([^"]*)"/g)];
  const known = [googleSignatureOf(account), "skip_thought_signature_validator"];
  return signed.some(([, value]) => !known.includes(value!))
    ? { message: "Thought signature is not valid", code: 400 }
    : null;
}

/** The virtual models of the matrix whose targets are two accounts, by the client's dialect. */
export const movedModels: Readonly<Record<string, readonly [host: string, ...models: string[]]>> = {
  messages: ["anthropic", "claude-opus-4-8", "claude-sonnet-4-5"],
  responses: ["azure", "gpt-5.5", "gpt-4.1"],
  chat: ["azure", "gpt-5.2", "gpt-4.1"],
  google: ["gemini", "gemini-3-pro-preview", "gemini-2.5-pro"],
};

export const moved = "moved";

/** The provider, of a host without a search, whose requests Sluice's web search serves. */
export const searching = "searching";

/** The host that a path's first part names, and how its account is known to the matrix. */
export function hostOfAccount(name: string): {
  readonly host: string;
  readonly seenAs: string;
  readonly failsBySecond: boolean;
} {
  const [kind, host = name, number] = name.split(".");
  if (kind === searching) return { host, seenAs: searching, failsBySecond: false };
  return kind === moved
    ? { host, seenAs: moved, failsBySecond: number === "1" }
    : { host: name, seenAs: name, failsBySecond: false };
}
