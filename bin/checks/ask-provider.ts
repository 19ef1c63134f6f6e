/**
 * Requests a provider's list of models with its key, the one request without a cost. It takes the
 * same route as the gateway's requests.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import { withProviderFiles } from "../../proxy/auth/secret-files.js";
import { createEgress } from "../../proxy/egress/egress.js";
import { createEgressAgent } from "../../proxy/egress/egress-agent.js";
import { credentialHeaders } from "../../proxy/upstream/credentials/provider-keys.js";
import type { ProviderConfig } from "../../shared/config/config.js";

export interface ProviderAnswer {
  /** Null if there was no answer. */
  readonly status: number | null;
  readonly ms: number;
  /** The provider's clock in ms since the epoch, to the second, if it sent a date. */
  readonly dateMs: number | null;
  /** Why there was no answer. */
  readonly reason: string | null;
  /** Why this user can't read the key's file; the request then had no key. */
  readonly keyProblem: string | null;
}

const deadlineMs = 10_000;

/** Never rejects. */
export async function askProvider(provider: ProviderConfig): Promise<ProviderAnswer> {
  const beganMs = performance.now();
  const took = (): number => Math.round(performance.now() - beganMs);
  const signal = AbortSignal.timeout(deadlineMs);
  const { key, keyProblem } = await keyOf(provider);
  try {
    const url = new URL(`${provider.baseUrl.replace(/\/+$/, "")}/models`);
    const withFiles = await withProviderFiles(provider);
    const agent = createEgressAgent(url.protocol, createEgress(withFiles), {
      connectTimeoutMs: deadlineMs,
    });
    const { get } = url.protocol === "https:" ? https : http;
    const flat = [
      "accept",
      "application/json",
      ...credentialHeaders(provider, key),
      ...withFiles.headers,
    ];
    const headers: Record<string, string> = {};
    for (let i = 0; i < flat.length; i += 2) headers[flat[i]!] = flat[i + 1]!;
    const request = get(url, { agent, signal, headers });
    const [response] = (await once(request, "response", { signal })) as [http.IncomingMessage];
    response.destroy();
    const dateMs = Date.parse(response.headers.date ?? "");
    return {
      status: response.statusCode ?? null,
      ms: took(),
      dateMs: Number.isNaN(dateMs) ? null : dateMs,
      reason: null,
      keyProblem,
    };
  } catch (error) {
    const reason = signal.aborted
      ? `no answer within ${deadlineMs / 1000} s`
      : ((error as NodeJS.ErrnoException).code ?? (error as Error).message);
    return { status: null, ms: took(), dateMs: null, reason, keyProblem };
  }
}

/**
 * Doesn't run key commands: they have side effects. Under systemd a key's file may be a credential,
 * which only the service can read.
 */
async function keyOf({ apiKey, apiKeys, apiKeyFile }: ProviderConfig): Promise<{
  readonly key: string | null;
  readonly keyProblem: string | null;
}> {
  const [first] = apiKeys ?? [];
  if (first !== undefined && "key" in first) return { key: first.key, keyProblem: null };
  const file = apiKeyFile ?? first?.keyFile ?? null;
  if (file === null) return { key: apiKey, keyProblem: null };
  try {
    return { key: (await readFile(file, "utf8")).trim(), keyProblem: null };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { key: null, keyProblem: `${file} (${code})` };
  }
}
