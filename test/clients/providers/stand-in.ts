/**
 * One server that stands in for all providers, each below its own path. It refuses what the real
 * one would, and remembers that it did.
 */
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { countProblem, countWith, tokensCounted } from "../counts.js";
import { foreignSecret, hostOfAccount, moved, withSecretsOf } from "./accounts.js";
import { chatAnswer, chatChunks, readChat } from "./chat-answers.js";
import { googleAnswer, googleChunks, readGoogle } from "./google-answers.js";
import { type Host, hosts, type Operation } from "./hosts.js";
import { messagesAnswer, messagesEvents, readMessages } from "./messages-answers.js";
import { readResponses, responsesAnswer, responsesEvents } from "./responses-answers.js";
import { type Conversation, found, picture, type Reply, replyTo } from "./script.js";
import { firstProblem, isJson, type Json, listOf } from "./shape.js";

/** What one provider has seen and said. */
export interface Seen {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  /** Endless streams that nobody has left yet. */
  streaming: number;
  /** Endless streams that have begun. */
  streams: number;
  /** What was wrong with requests. */
  readonly refused: string[];
}

export interface StandIn {
  readonly url: string;
  /** The account of a provider. */
  seen(host: string): Seen;
  /** Ends all accounts, and begins new ones. */
  forget(): void;
  close(): Promise<void>;
}

const port = (address: string | AddressInfo | null): number => (address as AddressInfo).port;

export async function startStandIn(): Promise<StandIn> {
  const accounts = new Map<string, Seen>();
  const seen = (host: string): Seen => {
    const found = accounts.get(host);
    if (found !== undefined) return found;
    const made = {
      requests: 0,
      inputTokens: 0,
      outputTokens: 0,
      streaming: 0,
      streams: 0,
      refused: [],
    };
    accounts.set(host, made);
    return made;
  };
  const answers = new Answers(seen);
  const server = http.createServer((request, response) => {
    void answers.serve(request, response).catch((error: unknown) => {
      seen("").refused.push(String(error));
      response.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${port(server.address())}`,
    seen,
    forget: () => accounts.clear(),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

interface Dialect {
  read(body: Json): Conversation;
  whole(reply: Reply): Json;
  events(reply: Reply): readonly Json[];
}

class Answers {
  readonly #seen: (host: string) => Seen;
  /** Stored responses, with all items up to them. */
  readonly #stored = new Map<string, readonly Json[]>();
  #calls = 1000;
  /** Requests to accounts that fail every second one. */
  #tries = 0;

  constructor(seen: (host: string) => Seen) {
    this.#seen = seen;
  }

  async serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const [, account = "", ...rest] = new URL(request.url!, "http://stand-in").pathname.split("/");
    const { host: hostName, seenAs: name, failsBySecond } = hostOfAccount(account);
    // As Tavily describes its API.
    if (account === "tavily")
      return send(response, 200, {
        results: [{ title: "Fruit", url: "https://example.org/fruit", content: found }],
      });
    const host = hosts.find((each) => each.name === hostName);
    const written = rest.join("/").replace(/^(?:(?:openai\/)?v1|v1beta\/openai)\//, "");
    const ofGoogle = /^v1beta\/models\/([^:]+):(stream)?[gG]enerateContent$/.exec(written);
    const operation = (ofGoogle === null ? written : "generateContent") as Operation;
    const text = await bodyOf(request);
    const counted = countWith(hostName, written);
    if (counted !== null) return this.#count(hostName, { counted, text, response });
    const rules = host?.rules[operation];
    if (host === undefined || rules === undefined) {
      if (operation.startsWith("models") || host === undefined)
        return send(response, 200, { object: "list", data: listed(host) });
      this.#seen(name).refused.push(`${request.method} ${operation}: no such endpoint`);
      return send(response, 404, { error: { type: "not_found_error", message: "no such URL" } });
    }
    if (failsBySecond && this.#isOut()) return send(response, 503, { error: { message: "busy" } });
    const body: unknown = JSON.parse(text);
    const foreign = name === moved ? foreignSecret(text, account) : null;
    if (foreign !== null) {
      this.#seen(name).refused.push(`${operation}: ${String(foreign["message"])}`);
      return send(response, 400, { error: { type: "invalid_request_error", ...foreign } });
    }
    const problem = isJson(body)
      ? firstProblem({ model: ofGoogle?.[1], ...body }, request.headers as Json, rules)
      : "the body must be an object";
    if (!isJson(body) || problem !== null) {
      this.#seen(name).refused.push(`${operation}: ${problem}`);
      return send(response, 400, {
        type: "error",
        error: { type: "invalid_request_error", message: problem, param: null, code: null },
      });
    }
    const isStream = ofGoogle === null ? body["stream"] === true : ofGoogle[2] !== undefined;
    await this.#answer(host, operation, { account, body, isStream }, response);
  }

  /** Every second time. */
  #isOut(): boolean {
    this.#tries++;
    return this.#tries % 2 === 0;
  }

  #count(
    name: string,
    {
      counted,
      text,
      response,
    }: { readonly counted: string; readonly text: string; readonly response: http.ServerResponse },
  ): void {
    const problem = countProblem(name, JSON.parse(text) as unknown);
    if (problem === null) return send(response, 200, { [counted]: tokensCounted });
    this.#seen(name).refused.push(`count of tokens: ${problem}`);
    send(response, 400, { error: { type: "invalid_request_error", message: problem } });
  }

  async #answer(
    host: Host,
    operation: Operation,
    {
      account: name,
      body,
      isStream,
    }: { readonly account: string; readonly body: Json; readonly isStream: boolean },
    response: http.ServerResponse,
  ): Promise<void> {
    const dialect = this.#dialect(host, operation, body);
    const hasPicture = JSON.stringify(body).includes(picture);
    const reply = replyTo({ ...dialect.read(body), hasPicture });
    const { seenAs } = hostOfAccount(name);
    const account = this.#seen(seenAs);
    const signed = (event: Json): Json =>
      seenAs === moved ? (JSON.parse(withSecretsOf(name, JSON.stringify(event))) as Json) : event;
    account.requests++;
    if (reply.isEndless) return this.#goOn(dialect.events(reply), operation, response, account);
    const whole = dialect.whole(reply);
    const { input, output } = tokensOf(whole);
    account.inputTokens += input;
    account.outputTokens += output;
    if (operation === "responses" && body["store"] !== false) this.#store(whole, body);
    if (!isStream) return send(response, 200, signed(whole));
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of dialect.events(reply)) {
      if (response.destroyed) return;
      response.write(asEvent(signed(event), operation));
      // What a hard cap is to cut comes bit by bit, as from a model.
      if (reply.isCut === true) await setTimeout(2);
    }
    response.end(operation === "chat/completions" ? "data: [DONE]\n\n" : "");
  }

  #dialect(host: Host, operation: Operation, body: Json): Dialect {
    const numbered = { first: this.#calls };
    this.#calls += 10;
    switch (operation) {
      case "chat/completions":
        return {
          read: readChat,
          whole: (reply) => chatAnswer(body, reply, host.chat, numbered),
          events: (reply) => chatChunks(body, reply, host.chat, numbered),
        };
      case "messages":
        return {
          read: readMessages,
          whole: (reply) => messagesAnswer(body, reply, numbered),
          events: (reply) => messagesEvents(body, reply, numbered),
        };
      case "generateContent":
        return {
          read: readGoogle,
          whole: (reply) => googleAnswer(body, reply, numbered),
          events: (reply) => googleChunks(body, reply, numbered),
        };
      case "responses":
        return {
          read: () => readResponses(body, this.#before(body)),
          whole: (reply) => responsesAnswer(body, reply, numbered),
          events: (reply) => responsesEvents(body, reply, numbered),
        };
    }
  }

  #before(body: Json): readonly Json[] {
    return this.#stored.get(String(body["previous_response_id"])) ?? [];
  }

  #store(whole: Json, body: Json): void {
    const { input } = body;
    const items = typeof input === "string" ? [{ role: "user", content: input }] : listOf(input);
    this.#stored.set(String(whole["id"]), [
      ...this.#before(body),
      ...items,
      ...listOf(whole["output"]),
    ]);
  }

  /** The beginning of the stream, and then its text again and again. */
  async #goOn(
    events: readonly Json[],
    operation: Operation,
    response: http.ServerResponse,
    account: Seen,
  ): Promise<void> {
    const text = events.findIndex((event) => JSON.stringify(event).includes('"wait '));
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events.slice(0, text + 1)) response.write(asEvent(event, operation));
    account.streaming++;
    account.streams++;
    const timer = setInterval(() => response.write(asEvent(events[text]!, operation)), 20);
    await once(response, "close");
    clearInterval(timer);
    account.streaming--;
  }
}

function tokensOf(whole: Json): { readonly input: number; readonly output: number } {
  const google = whole["usageMetadata"] as Readonly<Record<string, number>> | undefined;
  if (google !== undefined)
    return {
      input: google["promptTokenCount"]!,
      output: google["candidatesTokenCount"]! + google["thoughtsTokenCount"]!,
    };
  const usage = whole["usage"] as Readonly<Record<string, number>>;
  return {
    input:
      usage["prompt_tokens"] ?? usage["input_tokens"]! + (usage["cache_read_input_tokens"] ?? 0),
    output: usage["completion_tokens"] ?? usage["output_tokens"]!,
  };
}

function listed(host: Host | undefined): readonly Json[] {
  return (host?.models ?? []).map((id) => ({ id, object: "model", created: 0, owned_by: "x" }));
}

function asEvent(event: Json, operation: Operation): string {
  const data = `data: ${JSON.stringify(event)}\n\n`;
  const isNamed = operation === "messages" || operation === "responses";
  return !isNamed ? data : `event: ${String(event["type"])}\n${data}`;
}

function send(response: http.ServerResponse, status: number, body: Json): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function bodyOf(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
