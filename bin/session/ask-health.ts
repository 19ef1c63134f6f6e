/**
 * Requests to a proxy of this host: for its /health, and whether it wants credentials. A failure is
 * a value, not an exception.
 */
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { parseJson } from "../../shared/checked.js";

/** The proxy's response. `reason` says why there is none; `body` is null if it wasn't JSON. */
export interface Health {
  readonly url: string | null;
  readonly reachable: boolean;
  readonly status: number | null;
  readonly body: unknown;
  readonly reason: string | null;
}

/** A health response has a few hundred bytes; another program may listen on that port. */
const healthBytesMax = 64 * 1024;

/**
 * Never rejects; takes at most `deadlineMs`. It doesn't use `fetch`, which refuses some ports that
 * a proxy may listen on. `key`: the credential for the details of /health, which others don't get.
 */
export async function askHealth(
  url: string,
  deadlineMs: number,
  key: string | null,
): Promise<Health> {
  const signal = AbortSignal.timeout(deadlineMs);
  const headers = key === null ? {} : { authorization: `Bearer ${key}` };
  try {
    const response = await get(`${url}/health`, { signal, headers });
    const text = await readBounded(response);
    return {
      url,
      reachable: true,
      status: response.statusCode ?? null,
      body: parseJson(text) ?? null,
      reason: null,
    };
  } catch (error) {
    return {
      url,
      reachable: false,
      status: null,
      body: null,
      reason: signal.aborted ? `no answer within ${deadlineMs} ms` : reasonOf(error),
    };
  }
}

/** Whether the gateway at this address answers callers without a credential with 401. */
export async function wantsCredentials(url: string, deadlineMs: number): Promise<boolean> {
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const response = await get(`${url}/v1/models`, { signal, headers: {} });
    response.destroy();
    return response.statusCode === 401;
  } catch {
    // No gateway answers there.
    return false;
  }
}

async function get(
  url: string,
  options: Required<Pick<http.RequestOptions, "signal" | "headers">>,
): Promise<http.IncomingMessage> {
  // The certificate is for the gateway's public name, not for this address.
  const request = url.startsWith("https:")
    ? https.get(url, { agent: false, ...options, rejectUnauthorized: false })
    : http.get(url, { agent: false, ...options });
  const { signal } = options;
  const [response] = (await once(request, "response", { signal })) as [http.IncomingMessage];
  return response;
}

async function readBounded(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > healthBytesMax) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (/alert certificate required/.test(error.message))
    return "it requires a client certificate; metrics.port, which is plain HTTP, requires none";
  return "code" in error && error.code === "ECONNREFUSED" ? "nothing listens there" : error.message;
}
