/**
 * The ids of an answer with searches, over all pairs of dialects, whole and streamed: each occurs
 * once, though a model numbers the calls of each of its turns anew.
 */
import t from "tap";
import { chooseDialect } from "../../../proxy/dialects/choose-dialect.js";
import type { JsonObject } from "../../../proxy/dialects/shared/translation.js";
import { chatSearch } from "../../../proxy/web-search/chat-search.js";
import { googleSearch } from "../../../proxy/web-search/google-search.js";
import { messagesSearch } from "../../../proxy/web-search/messages-search.js";
import { responsesSearch } from "../../../proxy/web-search/responses-search.js";
import type { SearchConversation } from "../../../proxy/web-search/search-conversation.js";
import type { Operation } from "../../../shared/operation.js";
import {
  answerIn,
  type DialectName,
  type ProviderDialect,
  type Step,
} from "../dialects/neutral-conversation.js";
import { context } from "../dialects/sample-answers.js";

interface Client {
  readonly operation: Operation;
  readonly search: (body: JsonObject) => SearchConversation | null;
  readonly body: JsonObject;
  /** The ids in an answer that is whole, each with what it names. */
  readonly ids: (answer: JsonObject) => readonly unknown[];
}

const asked = [{ role: "user", content: "?" }];
type Items = readonly Readonly<Record<string, unknown>>[];
const known = (ids: readonly unknown[]): readonly unknown[] =>
  ids.filter((id) => id !== undefined && id !== null);

const clients: Readonly<Record<DialectName, Client>> = {
  chat: {
    operation: "chat_completions",
    search: chatSearch,
    body: { model: "m", messages: asked, web_search_options: {} },
    ids: ({ choices }) => {
      const [choice] = choices as [{ message: { tool_calls?: Items } }];
      return (choice.message.tool_calls ?? []).map(({ id }) => id);
    },
  },
  messages: {
    operation: "messages",
    search: messagesSearch,
    body: {
      model: "m",
      messages: asked,
      tools: [{ type: "web_search_20250305", name: "web_search" }],
    },
    ids: ({ content }) => (content as Items).map(({ id }) => id),
  },
  responses: {
    operation: "responses",
    search: responsesSearch,
    body: { model: "m", input: "?", tools: [{ type: "web_search" }] },
    ids: ({ output }) => (output as Items).flatMap(({ id, call_id: call }) => [id, call]),
  },
  google: {
    operation: "stream_generate_content",
    search: googleSearch,
    body: { contents: [{ role: "user", parts: [{ text: "?" }] }], tools: [{ googleSearch: {} }] },
    ids: ({ candidates }) => {
      const [candidate] = candidates as [{ content: { parts: Items } }];
      return candidate.content.parts.map(
        ({ functionCall: call }) => (call as { id?: unknown })?.id,
      );
    },
  },
};
const providers: readonly ProviderDialect[] = ["chat", "messages", "responses"];
const spent = { input: 1, cached: 0, output: 1, reasoning: 0 };

/** The same ids in every turn: two searches, one, and a call of the client's. */
function turns(searchName: string): readonly Step[] {
  const call = (id: string, tool: string) => ({ id, tool, input: { query: "q" }, result: "" });
  const searching = { asked: [], picture: null, thought: null, answered: "Let me look." };
  return [
    { ...searching, calls: [call("call_0", searchName), call("call_1", searchName)] },
    { ...searching, calls: [call("call_0", searchName)] },
    { ...searching, calls: [call("call_0", "mine")] },
  ];
}

/** The function in a body that stands for the search, in whichever dialect. */
function nameOfSearch(body: JsonObject): string {
  const [name] = /web_search\w*/.exec(JSON.stringify((body["tools"] as Items).at(-1))) ?? [];
  return name!;
}

function eventsOf(text: string): JsonObject[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!) as JsonObject);
}

/** OpenAI's items have ids. */
function withItemIds(answer: JsonObject): JsonObject {
  const { output } = answer;
  if (output === undefined) return answer;
  return { ...answer, output: (output as Items).map((item, i) => ({ id: `item_${i}`, ...item })) };
}

/** The ids that a stream begins something with. */
const begun: Readonly<Record<DialectName, (event: JsonObject) => readonly unknown[]>> = {
  chat: ({ choices }) =>
    (choices as { delta?: { tool_calls?: Items } }[]).flatMap(({ delta }) =>
      (delta?.tool_calls ?? []).map(({ id }) => id),
    ),
  messages: ({ content_block: block }) => [(block as { id?: unknown } | undefined)?.id],
  responses: ({ type, item }) => {
    const { id, call_id: call } = (item ?? {}) as Readonly<Record<string, unknown>>;
    return type === "response.output_item.added" ? [id, call] : [];
  },
  google: (event) => clients.google.ids({ candidates: [{ content: { parts: [] } }], ...event }),
};

/** What has an id: of three searches, a call and, in Responses, the three texts. */
const counts: Readonly<Record<DialectName, number>> = {
  chat: 1,
  messages: 4,
  responses: 8,
  google: 1,
};

for (const [client, { operation, search, body, ids }] of Object.entries(clients) as [
  DialectName,
  Client,
][])
  for (const provider of providers)
    t.test(`searches of ${provider} for a client of ${client}`, async (t) => {
      const spoken: Operation = clients[provider].operation;
      const chosen = chooseDialect(operation, new Set([spoken]))!;
      const { translation } = chosen;
      // Any translation of the provider's dialect makes its events.
      const other = chooseDialect(
        client === "chat" ? "messages" : "chat_completions",
        new Set([spoken]),
      )!;
      const asEvents = (translation ?? other.translation)?.asEvents;
      // `asEvents` tells an item's end alone; the translated streams tell items as OpenAI's do.
      const isAbridged = client === "responses" && provider === "responses";
      for (const isStream of isAbridged ? [false] : [false, true]) {
        const conversation = search(body)!;
        let streamed = "";
        let sent = 0;
        for (let i = 0; i < 3; i++) {
          const next = conversation.nextBody(false);
          sent++;
          const said = answerIn(provider, turns(nameOfSearch(next))[i]!, spent, "unsigned");
          const answer = withItemIds(said);
          if (!isStream) conversation.readAnswer(translation?.answer(answer, context) ?? answer);
          else {
            const translator = translation?.events(context);
            const given = asEvents!(answer);
            const events =
              translator === undefined
                ? given
                : [
                    ...given.flatMap(({ event, data }) => translator.push(event, data)),
                    ...translator.end(),
                  ];
            for (const event of events) streamed += conversation.readEvent(event);
          }
          if (conversation.isOver) break;
          streamed += conversation.eventsBeforeSearches();
          streamed += conversation.readOutcomes(
            conversation.calls.map((call) => ({ call, results: [], error: null })),
          );
        }
        streamed += conversation.lastEvents();
        const found = isStream
          ? eventsOf(streamed).flatMap(begun[client])
          : ids(conversation.completeAnswer());
        const all = known(found);
        t.equal(sent, 3);
        t.equal(all.length, counts[client], all.join());
        t.equal(new Set(all).size, all.length, all.join());
      }
    });
