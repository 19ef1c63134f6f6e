/**
 * Load on a proxy, from inside the machine: plain requests on connections of their own and on kept
 * ones, and streams, one after the other by each of several clients, one at least, until standard
 * input ends. Then it prints what there was as JSON.
 */
import http from "node:http";

export interface LoadReport {
  readonly plain: number;
  readonly streams: number;
  /** The longest that a request took, in ms. */
  readonly worstMs: number;
  /** What went wrong, the first hundred. */
  readonly failures: readonly string[];
}

const [, , key = "", port = "8080"] = process.argv;
const agents = {
  own: new http.Agent({ keepAlive: false }),
  kept: new http.Agent({ keepAlive: true, maxSockets: 4 }),
};
const report = { plain: 0, streams: 0, worstMs: 0, failures: [] as string[] };
let stopping = false;
process.stdin.resume().once("end", () => {
  stopping = true;
});

function ask(agent: http.Agent, stream: boolean): Promise<void> {
  const startedMs = performance.now();
  const body = JSON.stringify({
    model: "sim-fast",
    stream,
    messages: [{ role: "user", content: "hello" }],
  });
  return new Promise((resolve) => {
    const fail = (reason: string): void => {
      if (report.failures.length < 100)
        report.failures.push(`${stream ? "stream" : "plain"}: ${reason}`);
      resolve();
    };
    const request = http.request(
      {
        agent,
        host: "127.0.0.1",
        port: Number(port),
        method: "POST",
        path: "/v1/chat/completions",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        response.once("error", (error) => fail(`cut: ${error.message}`));
        response.once("end", () => {
          if (response.statusCode !== 200) return fail(`${response.statusCode} ${text}`);
          if (stream && !text.includes("[DONE]")) return fail("a stream without its end");
          report[stream ? "streams" : "plain"]++;
          report.worstMs = Math.max(report.worstMs, performance.now() - startedMs);
          resolve();
        });
      },
    );
    request.once("error", (error: NodeJS.ErrnoException) =>
      fail(`${error.code ?? error.message}${request.reusedSocket ? " on a kept connection" : ""}`),
    );
    request.end(body);
  });
}

async function client(agent: http.Agent, stream: boolean): Promise<void> {
  do {
    await ask(agent, stream);
    // Not more than one core can do beside what is restarted.
    await new Promise((resolve) => setTimeout(resolve, 50));
  } while (!stopping);
}

await Promise.all([
  client(agents.own, false),
  client(agents.own, false),
  client(agents.kept, false),
  client(agents.kept, false),
  client(agents.own, true),
  client(agents.own, true),
  client(agents.kept, true),
]);
process.stdout.write(JSON.stringify(report));
process.exit(0);
