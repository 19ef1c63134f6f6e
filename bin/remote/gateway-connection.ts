/**
 * One request to a gateway elsewhere, by node:http and node:https. It doesn't use `fetch`, which
 * refuses some ports that a gateway may have.
 */
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { DaemonError } from "../../shared/wire/daemon-error.js";

/** A list of all rules of a large gateway may take long on a slow line. */
const deadlineMs = 30_000;
/** Ten thousand rules take some five megabytes. */
const answerBytesMax = 256 * 1024 * 1024;

export interface HttpCall {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly location: string | null;
  readonly text: string;
}

interface HttpConnection {
  /** Rejects with `DaemonError`. */
  send(call: HttpCall): Promise<HttpAnswer>;
  /**
   * The answer's text as it comes; ends when the gateway ends it. `signal` ends it too. The status
   * is 200, or it rejects with `DaemonError`.
   */
  stream(call: HttpCall, signal: AbortSignal): AsyncGenerator<string>;
  close(): void;
}

/** Keeps a connection between requests. */
export function openConnection(url: string): HttpConnection {
  const client = url.startsWith("https:") ? https : http;
  const agent = new client.Agent({ keepAlive: true, maxSockets: 2 });
  async function begin(call: HttpCall, signal: AbortSignal): Promise<http.IncomingMessage> {
    const { method, headers, body } = call;
    const length = body === null ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const request = client.request(call.url, {
      method,
      headers: { ...headers, ...length },
      agent,
      signal,
    });
    request.end(body ?? undefined);
    const [response] = (await once(request, "response", { signal })) as [http.IncomingMessage];
    return response;
  }
  return {
    async send(call) {
      const signal = AbortSignal.timeout(deadlineMs);
      try {
        const response = await begin(call, signal);
        const { statusCode = 0, headers } = response;
        return {
          status: statusCode,
          contentType: headers["content-type"] ?? "",
          location: headers.location ?? null,
          text: await readBounded(response),
        };
      } catch (error) {
        throw connectionError(url, error, signal.aborted);
      }
    },
    async *stream(call, signal) {
      try {
        const response = await begin(call, signal);
        if (response.statusCode !== 200) throw new Error(`it answered ${response.statusCode}`);
        response.setEncoding("utf8");
        for await (const text of response as AsyncIterable<string>) yield text;
      } catch (error) {
        if (signal.aborted) return;
        throw connectionError(url, error, false);
      }
    },
    close: () => agent.destroy(),
  };
}

async function readBounded(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new Error(`it answered more than ${answerBytesMax} bytes`);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function connectionError(url: string, error: unknown, isLate: boolean): DaemonError {
  const { origin, hostname } = new URL(url);
  if (isLate)
    return new DaemonError("silent", `${origin} didn't answer within ${deadlineMs / 1000} s`);
  const { code = "", message } = error as NodeJS.ErrnoException;
  switch (code) {
    case "ECONNREFUSED":
      return new DaemonError("absent", `nothing listens on ${origin}`, error);
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new DaemonError("absent", `the host ${hostname} has no address (${code})`, error);
    case "ECONNRESET":
    case "EPIPE":
      // So does a server that expects TLS.
      return new DaemonError(
        "lost",
        `${origin} hung up without an answer${url.startsWith("https:") ? "" : ": if it speaks TLS, try https://"}`,
        error,
      );
    case "EPROTO":
    case "HPE_INVALID_CONSTANT":
      return new DaemonError(
        "broken",
        `${origin} doesn't speak ${url.startsWith("https:") ? "TLS: try http://" : "HTTP: try https://"}`,
        error,
      );
    default:
      return new DaemonError(
        "unreachable",
        `can't reach ${origin}: ${connectionProblem(code, message)}`,
        error,
      );
  }
}

const certificateCodes = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/;

function connectionProblem(code: string, message: string): string {
  return certificateCodes.test(code)
    ? `its certificate isn't trusted: ${message}; NODE_EXTRA_CA_CERTS=FILE adds an authority`
    : message;
}
