/**
 * The provider of the soak, in a process of its own, and simulated: OpenAI-compatible and
 * Anthropic's APIs at one address. What a call gets follows from the number in its prompt, and from
 * the weather, which `PUT /weather/NAME` sets. It remembers which requests it has been asked.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { kindOf, numberIn, type ProviderAct } from "./mix.js";
import {
  type Asked,
  marks,
  type ProviderDialect,
  streamedAnswer,
  wholeAnswer,
} from "./provider-answers.js";

/** In all but fair weather every second call is struck, whatever it asks for. */
export type Weather = "fair" | Extract<ProviderAct, "fails" | "limits" | "breaks" | "hangs">;

interface Call extends Asked {
  readonly stream: boolean;
  readonly response: ServerResponse;
}

const numbersMax = 8_000_000;
const lateMs = 500;
const pieces = { at: 6, everyMs: 15 };
const slowPieces = { at: 30, everyMs: 500 };

class Provider {
  weather: Weather = "fair";
  /** By number: what has become of its calls, as the bits of `marks`. */
  readonly seen = new Uint8Array(numbersMax);
  again = 0;

  take(call: Call, ill: boolean): void {
    const { n } = call;
    if (n === null) this.again++;
    else this.seen[n]! |= marks.called;
    if (ill) return void fail(call.response, 503);
    const own: ProviderAct = (n === null ? undefined : kindOf(n).provider) ?? "at once";
    // A draw of its own for each call, so that a request that is sent again may meet the sun.
    const struck = this.weather !== "fair" && Math.random() < 0.5;
    if (struck && n !== null) this.seen[n]! |= marks.struck;
    this.#act(struck && this.weather !== "fair" ? this.weather : own, call);
  }

  #act(act: ProviderAct, call: Call): void {
    const { response, stream } = call;
    switch (act) {
      case "fails":
        return fail(response, 500);
      case "limits":
        return fail(response, 429);
      case "hangs":
        return;
      case "breaks":
        if (!stream) return void response.destroy();
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(streamedAnswer(call, 1)[0]!, () => setTimeout(() => response.destroy(), 20));
        return;
      case "late":
        setTimeout(() => this.#tell(call, pieces), lateMs);
        return;
      default:
        this.#tell(call, act === "slowly" ? slowPieces : pieces);
    }
  }

  #tell(call: Call, { at: words, everyMs }: typeof pieces): void {
    const { response, stream, n } = call;
    const answered = (): void => {
      if (n !== null)
        this.seen[n]! |= this.seen[n]! & marks.answered ? marks.answeredTwice : marks.answered;
    };
    if (response.destroyed) return;
    if (!stream) {
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(wholeAnswer(call), answered);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const texts = streamedAnswer(call, words);
    const write = (i: number): void => {
      if (response.destroyed) return;
      if (i === texts.length - 1) return void response.end(texts[i], answered);
      response.write(texts[i]);
      setTimeout(() => write(i + 1), everyMs);
    };
    write(0);
  }
}

function fail(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(
    JSON.stringify({ error: { message: `simulated ${status}`, type: "server_error", code: null } }),
  );
}

const dialects: Readonly<Record<string, ProviderDialect>> = {
  "chat/completions": "chat",
  messages: "messages",
  embeddings: "embeddings",
};

function serve(provider: Provider, request: IncomingMessage, response: ServerResponse): void {
  const [, where, , ...operation] = (request.url ?? "").split("?")[0]!.split("/");
  if (where === "weather") {
    provider.weather = request.url!.slice("/weather/".length) as Weather;
    return void response.end();
  }
  if (where === "seen") return void response.end(Buffer.from(provider.seen.buffer, 0, numbersMax));
  if (where === "again") return void response.end(String(provider.again));
  const dialect = dialects[operation.join("/")];
  if (dialect === undefined) return void response.writeHead(404).end();
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (text: string) => (body += text));
  request.on("end", () =>
    provider.take(
      { n: numberIn(body), dialect, stream: /"stream":\s*true/.test(body), response },
      where === "ill",
    ),
  );
}

if (process.send !== undefined) {
  const provider = new Provider();
  const server = createServer((request, response) => serve(provider, request, response));
  server.keepAliveTimeout = 60_000;
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1024 }, () => {
    const { port } = server.address() as AddressInfo;
    process.send!({ ready: `http://127.0.0.1:${port}` });
  });
  process.on("disconnect", () => process.exit());
}
