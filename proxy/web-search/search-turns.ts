/**
 * Runs web searches for models whose provider can't (docs/web-search.md). The model gets a function
 * instead of the client's search tool. Each of its turns is a separate model request, admitted,
 * sent and settled like any other; between two turns the searches run, each with a record of its
 * own. The client receives one answer, in its dialect's form of a search.
 *
 * Not here: the shapes of the dialects, and the search providers' APIs.
 */
import { readableResponseBytesMax } from "../../shared/bounds.js";
import { isObject, parseJson } from "../../shared/checked.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { searchingHosts } from "../../shared/config/host-traits.js";
import { authorizeCaller } from "../auth/caller.js";
import { parseObjectExactly, writeExactly } from "../body/exact-json.js";
import { EventSplitter } from "../dialects/event-stream.js";
import type { JsonObject } from "../dialects/shared/translation.js";
import { providerOf } from "../gateway.js";
import { refuseUnread } from "../handlers/admit-and-settle.js";
import { modelRequest } from "../handlers/model-request.js";
import { headerOf, pairsWhose } from "../http/copy-headers.js";
import type { BodyResult, Exchange } from "../http/exchange.js";
import { DelegatedExchange } from "../http/exchanges/delegated-exchange.js";
import { errorEvents, streamDialect } from "../http/exchanges/keep-alive-events.js";
import type { ModelOperation } from "../http/match-route.js";
import type { RequestContext } from "../request-context.js";
import { type Route, resolveModel } from "../routing/resolve-model.js";
import { wantsEvents } from "../upstream/upstream-path.js";
import { searchRecord } from "../usage/usage-record.js";
import { chatSearch } from "./chat-search.js";
import type { WebSearch } from "./fetch-search.js";
import { googleSearch } from "./google-search.js";
import { messagesSearch } from "./messages-search.js";
import { responsesSearch } from "./responses-search.js";
import type {
  SearchCall,
  SearchConversation,
  SearchError,
  SearchOutcome,
} from "./search-conversation.js";

interface Dialect {
  /** Every body with a search contains one of these texts: a body without them isn't parsed. */
  readonly signs: readonly string[];
  /** Null if the body has no search. */
  readonly conversation: (body: JsonObject) => SearchConversation | null;
}

const googleDialect: Dialect = {
  signs: ["googleSearch", "google_search"],
  conversation: googleSearch,
};

const dialects: Partial<Record<ModelOperation, Dialect>> = {
  messages: { signs: ["web_search_2"], conversation: messagesSearch },
  responses: { signs: ["web_search"], conversation: responsesSearch },
  chat_completions: { signs: ["web_search_options"], conversation: chatSearch },
  generate_content: googleDialect,
  stream_generate_content: googleDialect,
};

/** A model request that may have a web search. Never rejects. */
export async function searchingRequest(
  context: RequestContext,
  operation: ModelOperation,
  search: WebSearch,
): Promise<void> {
  const dialect = dialects[operation];
  if (dialect === undefined) return modelRequest(context, operation);
  const { gateway, exchange } = context;
  const isCompressed = exchange.header("content-encoding") !== undefined;
  if (isCompressed && (await refuseUnread(context))) return;
  const bodyResult = await exchange.readBody(gateway.config.server.bodyBytesMax);
  const unchanged = { ...context, exchange: new ReadExchange(exchange, bodyResult) };
  if (!bodyResult.ok || !dialect.signs.some((sign) => bodyResult.bytes.includes(sign)))
    return modelRequest(unchanged, operation);
  // `modelRequest` parses the body again, so only the body of a known caller is parsed here.
  const authorized = await authorizeCaller(gateway.limiter, context.caller, "model");
  const body = authorized.ok ? parsedBody(bodyResult.bytes) : null;
  const conversation = body === null ? null : dialect.conversation(body);
  const isOfGoogle = operation === "stream_generate_content";
  // Google's older clients get a stream as one array, to which no turn can be added.
  const isArray = isOfGoogle && !wantsEvents(exchange.query);
  if (body === null || conversation === null || isArray || needsNoSearch(context, operation, body))
    return modelRequest(unchanged, operation);
  const turns = new SearchTurns(context, { operation, search, conversation });
  return turns.run(isOfGoogle || body["stream"] === true);
}

function parsedBody(bytes: Buffer): JsonObject | null {
  try {
    const value: unknown = parseObjectExactly(bytes);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whether Sluice needn't search: every target searches itself, or the model is unknown. */
function needsNoSearch(
  { gateway, exchange }: RequestContext<"models" | "providers">,
  operation: ModelOperation,
  body: JsonObject,
): boolean {
  const model = exchange.modelInPath ?? body["model"];
  const route: Route | null =
    typeof model === "string" ? resolveModel(gateway.models.current(), model) : null;
  return (
    route === null ||
    route.targets.every((target) =>
      searchesItself(operation, providerOf(gateway, target).config, target.model),
    )
  );
}

function searchesItself(
  operation: ModelOperation,
  { type, baseUrl, operations }: ProviderConfig,
  model: string,
): boolean {
  if (!operations.has(operation)) return false;
  if (operation === "responses" && type === "azure") return true;
  if (operation === "chat_completions" && /search/i.test(model)) return true;
  return searchingHosts[operation]?.test(new URL(baseUrl).hostname) ?? true;
}

/** The longest query that all search providers take. */
const queryCharsMax = 400;

interface SearchRequest {
  readonly operation: ModelOperation;
  readonly search: WebSearch;
  readonly conversation: SearchConversation;
}

class SearchTurns {
  readonly #context: RequestContext;
  readonly #operation: ModelOperation;
  readonly #search: WebSearch;
  readonly #conversation: SearchConversation;
  /** The number of searches that may still run. */
  #searchesLeft: number;

  constructor(context: RequestContext, { operation, search, conversation }: SearchRequest) {
    this.#context = context;
    this.#operation = operation;
    this.#search = search;
    this.#conversation = conversation;
    const { searchesMax } = search.config;
    this.#searchesLeft = Math.min(searchesMax, conversation.options.maxUses ?? searchesMax);
  }

  async run(stream: boolean): Promise<void> {
    const { exchange } = this.#context;
    const conversation = this.#conversation;
    for (let isFirst = true; ; isFirst = false) {
      const isLast = this.#searchesLeft === 0;
      const turn = await this.#turn(conversation.nextBody(isLast), stream, isFirst);
      if (turn === null) return;
      const { calls } = conversation;
      if (calls.length > 0) {
        if (stream) this.#write(conversation.eventsBeforeSearches());
        const outcomes = await this.#runSearches(calls);
        if (exchange.gone) return this.#context.record.markGone(exchange);
        const events = conversation.readOutcomes(outcomes);
        if (stream) this.#write(events);
      }
      if (calls.length > 0 && !isLast && !conversation.isOver) continue;
      if (stream) {
        this.#write(conversation.lastEvents());
        return exchange.end();
      }
      return exchange.reply(200, turn.headers, writeExactly(conversation.completeAnswer()), "utf8");
    }
  }

  #write(events: string): void {
    if (events !== "") this.#context.exchange.write(Buffer.from(events));
  }

  /** Runs a turn. Null if the client has got its answer, or has disconnected. */
  async #turn(body: JsonObject, stream: boolean, isFirst: boolean): Promise<TurnExchange | null> {
    const { exchange, record } = this.#context;
    const conversation = this.#conversation;
    const turn = new TurnExchange(exchange, Buffer.from(writeExactly(body)), (events) => {
      let text = "";
      for (const event of events) text += conversation.readEvent(event);
      return text;
    });
    await modelRequest({ ...this.#context, exchange: turn, searches: true }, this.#operation);
    if (exchange.gone || turn.isCut) return null;
    exchange.onGone(() => turn.onClientGone());
    await turn.ended;
    if (exchange.gone || turn.isCut) return null;
    if (turn.status === 200 && turn.isStream === stream) {
      const answer = stream ? null : parseJson(turn.text);
      if (!stream && isObject(answer)) conversation.readAnswer(answer);
      if (stream || isObject(answer)) return turn;
    }
    record.note ??= isFirst ? null : "a turn after a search failed";
    this.#passOn(turn);
    return null;
  }

  /** Passes on an answer that isn't part of the conversation, such as an error. */
  #passOn({ status, headers, text }: TurnExchange): void {
    const { exchange } = this.#context;
    if (!exchange.hasBegun) return exchange.reply(status, headers, text, "utf8");
    const dialect = streamDialect(this.#operation);
    if (dialect === null) return exchange.cut();
    exchange.write(errorEvents(dialect, status, text));
    exchange.end();
  }

  async #runSearches(calls: readonly SearchCall[]): Promise<readonly SearchOutcome[]> {
    const { exchange } = this.#context;
    const aborts: (() => void)[] = [];
    exchange.onGone(() => {
      for (const abort of aborts) abort();
    });
    return Promise.all(calls.map((call) => this.#runSearch(call, aborts)));
  }

  async #runSearch(call: SearchCall, aborts: (() => void)[]): Promise<SearchOutcome> {
    const { gateway, exchange } = this.#context;
    const failed = (error: SearchError): SearchOutcome => ({ call, results: [], error });
    const { query } = call;
    if (query === null) return failed("invalid_tool_input");
    if (query.length > queryCharsMax) return failed("query_too_long");
    if (this.#searchesLeft === 0) return failed("max_uses_exceeded");
    this.#searchesLeft--;
    const { options } = this.#conversation;
    const startedMonoMs = gateway.monoMs();
    const answer = await this.#search.search({ ...options, query }, (abort) => aborts.push(abort));
    if (answer.ok) {
      this.#charge(startedMonoMs);
      return { call, results: answer.results, error: null };
    }
    if (!exchange.gone)
      gateway.log.warn({ request_id: exchange.id, reason: answer.reason }, "a web search failed");
    return failed(answer.isBusy ? "too_many_requests" : "unavailable");
  }

  /** Records the search and charges it to budgets; it counts in no rate limit. */
  #charge(startedMonoMs: number): void {
    const { gateway, exchange, record } = this.#context;
    if (!gateway.config.usageEnabled || record.userPath === null) return;
    const { provider, costPerSearch: cost } = this.#search.config;
    record.addCost(cost);
    gateway.limiter.settleUnadmitted(
      {
        userPath: record.userPath,
        startedMonoMs,
        estimated: false,
        record: searchRecord(cost, {
          requestId: exchange.id,
          endpoint: exchange.path,
          target: { provider, model: "" },
          providerType: "web_search",
          keyId: record.keyId,
          requestedModel: "",
          session: record.session,
          startedMonoMs,
          endedMonoMs: gateway.monoMs(),
        }),
      },
      () => {},
    );
  }
}

/** The client's exchange with the body that was read from it. */
class ReadExchange extends DelegatedExchange {
  readonly #bodyResult: BodyResult;

  constructor(exchange: Exchange, bodyResult: BodyResult) {
    super(exchange);
    this.#bodyResult = bodyResult;
  }

  override async readBody(): Promise<BodyResult> {
    return this.#bodyResult;
  }
}

type OnEvents = (events: ReturnType<EventSplitter["push"]>) => string;

/** The exchange of one turn: Sluice makes its body, and reads its answer instead of sending it. */
class TurnExchange extends DelegatedExchange {
  readonly #outer: Exchange;
  readonly #body: Buffer;
  readonly #onEvents: OnEvents;
  readonly #splitter = new EventSplitter();
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #hasBegun = false;
  #end: () => void = () => {};
  /** Resolved once the answer has ended, or the client has left. */
  readonly ended: Promise<void>;
  status = 0;
  headers: readonly string[] = [];
  isStream = false;
  isCut = false;

  constructor(outer: Exchange, body: Buffer, onEvents: OnEvents) {
    super(outer);
    this.#outer = outer;
    this.#body = body;
    this.#onEvents = onEvents;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** The body is decoded already, so it has no content-encoding. */
  override header(name: string): string | undefined {
    return name === "content-encoding" ? undefined : super.header(name);
  }

  override async readBody(): Promise<BodyResult> {
    return this.memory.take(this.#body.length)
      ? { ok: true, bytes: this.#body }
      : { ok: false, reason: "no_memory" };
  }

  override get hasBegun(): boolean {
    return this.#hasBegun;
  }

  override begin(status: number, headers: readonly string[]): void {
    this.#hasBegun = true;
    this.#setHead(status, headers);
    this.isStream = headerOf(headers, "content-type").toLowerCase().startsWith("text/event-stream");
    if (this.isStream && !this.#outer.hasBegun) this.#outer.begin(status, this.headers);
  }

  #setHead(status: number, headers: readonly string[]): void {
    this.status = status;
    this.headers = pairsWhose(headers, (name) => !/^content-length$/i.test(name));
  }

  override write(chunk: Buffer): boolean {
    if (!this.isStream) {
      this.#keep(chunk);
      return true;
    }
    const text = this.#onEvents(this.#splitter.push(chunk));
    // A comment keeps the client's connection alive, states its place, or names a hard cap.
    const out = Buffer.concat([commentIn(chunk), Buffer.from(text)]);
    return out.length === 0 || this.#outer.write(out);
  }

  #keep(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > readableResponseBytesMax) this.cut();
    else this.#pieces.push(chunk);
  }

  override reply(
    status: number,
    headers: readonly string[],
    body: string,
    encoding: "latin1" | "utf8",
  ): void {
    this.#hasBegun = true;
    this.#setHead(status, headers);
    this.#keep(Buffer.from(body, encoding));
    this.#end();
  }

  get text(): string {
    return Buffer.concat(this.#pieces).toString("utf8");
  }

  override end(): void {
    this.#end();
  }

  override cut(): void {
    this.isCut = true;
    super.cut();
    this.#end();
  }

  onClientGone(): void {
    this.#end();
  }
}

const colon = 0x3a;
const comment = /^(?::[^\n]*\n)+\r?\n/;

/**
 * The comment at the beginning of a piece of a stream, as a block of its own; empty if there is
 * none.
 */
function commentIn(chunk: Buffer): Buffer {
  const [commentText = ""] =
    chunk[0] === colon ? (comment.exec(chunk.toString("latin1")) ?? []) : [];
  return Buffer.from(commentText, "latin1");
}
