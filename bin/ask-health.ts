/** Asks a proxy for its /health; whatever happens is a value. */

/** How the proxy answered. `reason` says why there is no answer; `body` is null when it wasn't JSON. */
export interface Health {
  readonly url: string | null;
  readonly reachable: boolean;
  readonly status: number | null;
  readonly body: unknown;
  readonly reason: string | null;
}

/** A health answer takes some hundred bytes; something else may listen on that port. */
const healthBytesMax = 64 * 1024;

/** Never rejects; takes at most `deadlineMs`. */
export async function askHealth(url: string, deadlineMs: number): Promise<Health> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(deadlineMs), redirect: "manual" });
    return { url, reachable: true, status: response.status, body: parse(await readBounded(response)), reason: null };
  } catch (error) {
    return { url, reachable: false, status: null, body: null, reason: reasonOf(error, deadlineMs) };
  }
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).length;
    if (bytes > healthBytesMax) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The status alone says enough of a body that isn't ours.
    return null;
  }
}

/** `fetch` hides the operating system's reason in `cause`. */
function reasonOf(error: unknown, deadlineMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `no answer within ${deadlineMs} ms`;
  const { cause } = error;
  if (typeof cause === "object" && cause !== null && "code" in cause && cause.code === "ECONNREFUSED") return "nobody listens there";
  return cause instanceof Error ? cause.message : error.message;
}
