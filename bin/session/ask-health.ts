/** Requests /health from a proxy; a failure is a value too. */
import { once } from "node:events";
import http from "node:http";
import { parseJson } from "../../shared/checked.js";

/** The proxy's response. `reason` says why there is none; `body` is null if it wasn't JSON. */
export interface Health {
  readonly url: string | null;
  readonly reachable: boolean;
  readonly status: number | null;
  readonly body: unknown;
  readonly reason: string | null;
}

/** A health response has some hundred bytes; another program may listen on that port. */
const healthBytesMax = 64 * 1024;

/**
 * Never rejects; takes at most `deadlineMs`. It doesn't use `fetch`, which refuses some ports that
 * a proxy may have.
 */
export async function askHealth(url: string, deadlineMs: number): Promise<Health> {
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const request = http.get(`${url}/health`, { agent: false, signal });
    const [response] = (await once(request, "response", { signal })) as [http.IncomingMessage];
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
  return "code" in error && error.code === "ECONNREFUSED" ? "nothing listens there" : error.message;
}
