/** The finding on a provider's answer to a check, and what to do about it. Pure. */
import type { ProviderConfig } from "../../shared/config/config.js";
import type { ProviderAnswer } from "./ask-provider.js";

export interface ProviderVerdict {
  readonly name: string;
  readonly state: "ok" | "warning" | "failure";
  readonly text: string;
}

/** `answer` is null if the provider wasn't asked. */
export function judgeProvider(
  provider: Pick<ProviderConfig, "name" | "type" | "baseUrl" | "apiKeyCommand">,
  answer: ProviderAnswer | null,
): ProviderVerdict {
  const { name, type, baseUrl, apiKeyCommand } = provider;
  const verdict = (state: ProviderVerdict["state"], text: string): ProviderVerdict => ({
    name,
    state,
    text,
  });
  if (type === "simulator") return verdict("ok", "a simulator: it makes its answers up");
  if (answer === null) return verdict("ok", "not asked");
  const { status, ms, reason, keyProblem } = answer;
  if (status === null)
    return verdict("failure", `${baseUrl}: ${failureText(reason ?? "no answer")}`);
  if (status < 300) return verdict("ok", `answers in ${ms} ms`);
  if ((status === 401 || status === 403) && keyProblem !== null)
    return verdict("warning", `reached; you can't read its key: ${keyProblem}`);
  if (status === 401 || status === 403)
    return apiKeyCommand === null
      ? verdict("failure", `refuses its key (${status}): see providers.${name}.api_key`)
      : verdict("ok", "reached; its key comes from a command, which wasn't run");
  if (status === 404 || status === 405)
    return verdict("warning", `reached, but lists no models (${status}): see base_url`);
  return verdict(status >= 500 ? "failure" : "warning", `reached, and answers ${status}`);
}

function failureText(reason: string): string {
  switch (reason) {
    case "ECONNREFUSED":
      return "nothing listens there";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the host has no address (${reason})`;
    case "ECONNRESET":
      return "it hung up";
    default:
      return /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(reason)
        ? `its certificate isn't trusted (${reason}): see ca_file`
        : reason;
  }
}
