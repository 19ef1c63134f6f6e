/**
 * Clients of a gateway that run until they are told to stop, and what became of each request: short
 * ones on connections that are kept, short ones each on a new connection, and streams. Nothing is
 * tried twice, so that a request that is refused, reset or cut shows.
 */
import http from "node:http";

export interface LoadResult {
  /** Requests that were answered with 200, whole. */
  readonly answered: number;
  /** Of these, streams that came to their end. */
  readonly streams: number;
  /** What became of all others. */
  readonly failures: readonly string[];
  readonly slowestMs: number;
}

interface LoadOptions {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly kept: number;
  readonly fresh: number;
  readonly streaming: number;
  readonly model: string;
}

/** Starts them; `stop` resolves when the last request has ended. */
export function startLoad(options: LoadOptions): { stop(): Promise<LoadResult> } {
  const failures: string[] = [];
  let [answered, streams, slowestMs] = [0, 0, 0];
  let stopping = false;
  const client = async (kind: "kept" | "fresh" | "stream"): Promise<void> => {
    const agent = new http.Agent({ keepAlive: kind !== "fresh", maxSockets: 1 });
    while (!stopping) {
      const startedMs = performance.now();
      const failure = await ask(options, kind === "stream", agent);
      if (failure !== null) failures.push(`${kind}: ${failure}`);
      else {
        answered++;
        if (kind === "stream") streams++;
        else slowestMs = Math.max(slowestMs, performance.now() - startedMs);
      }
    }
    agent.destroy();
  };
  const kinds = [
    ...new Array<"kept">(options.kept).fill("kept"),
    ...new Array<"fresh">(options.fresh).fill("fresh"),
    ...new Array<"stream">(options.streaming).fill("stream"),
  ];
  const ended = Promise.all(kinds.map(client));
  return {
    async stop() {
      stopping = true;
      await ended;
      return { answered, streams, failures, slowestMs };
    },
  };
}

/** Null if it was answered as it should be. */
function ask(
  { url, headers = {}, model }: LoadOptions,
  stream: boolean,
  agent: http.Agent,
): Promise<string | null> {
  const body = JSON.stringify({
    model,
    stream,
    // The simulator repeats it, word by word.
    messages: [{ role: "user", content: stream ? "on and on ".repeat(30) : "Hello!" }],
  });
  return new Promise((resolve) => {
    const request = http.request(`${url}/v1/chat/completions`, {
      method: "POST",
      agent,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        ...headers,
      },
    });
    request.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", (error) => resolve(`broken off: ${error.message}`));
      response.on("end", () => {
        if (response.statusCode !== 200) resolve(`${response.statusCode} ${text.slice(0, 200)}`);
        else if (stream && !text.includes("[DONE]")) resolve("a stream without its end");
        else resolve(null);
      });
    });
    request.end(body);
  });
}
