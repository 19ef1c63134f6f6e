import t from "tap";
import { responsesToChat } from "../../../proxy/dialects/choose-dialect.js";
import { composeTranslations } from "../../../proxy/dialects/compose-translations.js";
import type {
  AnswerContext,
  JsonObject,
  Translation,
} from "../../../proxy/dialects/shared/translation.js";
import { invalid } from "../../../shared/error-code.js";
import { exactly } from "../../support/patterns/exactly.js";
import { options } from "./request-options.js";

/**
 * Wraps each value, so that a result shows which translation ran when and with which context.
 * Refuses a field named after itself.
 */
function wrapping(name: string): Translation {
  const label = ({ request, model, requestId, nowSeconds }: AnswerContext) =>
    `${name} for ${model} ${requestId} ${nowSeconds} ${JSON.stringify(request)}`;
  return {
    echoedFields: [name],
    request: (body, { maxTokensDefault }) =>
      name in body
        ? { ok: false, failure: invalid(`${name} is unsupported`, name) }
        : { ok: true, body: { [`from_${name}`]: body, maxTokensDefault }, dropped: [name, "both"] },
    answer: (body, context) => ({ [label(context)]: body }),
    asEvents: () => [{ event: name, data: "complete" }],
    events(context) {
      return {
        push: (event, data) =>
          data === "skip"
            ? []
            : [
                { event: `${name}(${event})`, data: `${name}(${data})` },
                { event: null, data: `${label(context)}` },
              ].slice(0, data.startsWith("twice") ? 2 : 1),
        end: () => [{ event: null, data: `end of ${name}` }],
        refuse: (message) => [{ event: null, data: message }],
        usage: name,
        hasFailed: false,
        heldBytes: name.length,
        unsentChars: 2 * name.length,
      };
    },
  };
}

const composed = composeTranslations(wrapping("outer"), wrapping("inner"));
const context: AnswerContext = {
  model: "m",
  nowSeconds: 7,
  requestId: "r",
  provider: "p",
  request: { q: 1 },
};

t.test("both keep what they keep of a stream", async (t) => {
  const { heldBytes, unsentChars } = composed.events(context);
  t.same([heldBytes, unsentChars], [10, 20]);
});

t.test("a request goes through the outer translation, then the inner one", async (t) => {
  t.strictSame(composed.request({ q: 1 }, { ...options, maxTokensDefault: 5 }), {
    ok: true,
    body: { from_inner: { from_outer: { q: 1 }, maxTokensDefault: 5 }, maxTokensDefault: 5 },
    dropped: ["outer", "both", "inner"],
  });
});

t.test(
  "a refusal of either translation is returned; the inner one's says that it is about the translated request",
  async (t) => {
    t.strictSame(composed.request({ outer: 1 }, { ...options, maxTokensDefault: 5 }), {
      ok: false,
      failure: invalid("outer is unsupported", "outer"),
    });
    const picky: Translation = {
      ...wrapping("inner"),
      request: () => ({ ok: false, failure: invalid("verbosity is unsupported", "verbosity") }),
    };
    t.strictSame(
      composeTranslations(wrapping("outer"), picky).request(
        { q: 1 },
        { ...options, maxTokensDefault: 5 },
      ),
      {
        ok: false,
        failure: invalid("in the translated request, verbosity is unsupported", "verbosity"),
      },
    );
  },
);

t.test(
  "an answer goes through the inner translation, then the outer one, which alone knows the request",
  async (t) => {
    const answer = composed.answer({ a: 1 }, context);
    const [outer] = Object.keys(answer);
    t.equal(outer, 'outer for m r 7 {"q":1}');
    const [inner] = Object.keys(answer[outer!] as JsonObject);
    t.match(inner, /^inner for m r 7 \{\}/);
    t.same(composed.echoedFields, ["outer"]);
    t.strictSame((answer[outer!] as JsonObject)[inner!], { a: 1 });
  },
);

t.test("events are piped, and both translators end in order", async (t) => {
  const events = composed.events(context);
  t.strictSame(events.push("x", "skip"), []);
  t.strictSame(events.push("x", "once"), [
    { event: "outer(inner(x))", data: "outer(inner(once))" },
  ]);
  t.equal(events.push(null, "twice").length, 2);
  t.strictSame(events.refuse("no"), [{ event: "outer(null)", data: "outer(no)" }]);
  t.strictSame(events.end(), [
    { event: "outer(null)", data: "outer(end of inner)" },
    { event: null, data: "end of outer" },
  ]);
  t.equal(events.usage, "inner", "as the provider reported it");
  t.strictSame(
    composed.asEvents({}),
    [{ event: "inner", data: "complete" }],
    "and so are the events of a complete answer",
  );
});

/**
 * Chat completions in capitals: a provider's dialect that differs from chat in one thing, so that a
 * composition is readable.
 */
const capitals: Translation = {
  echoedFields: [],
  request: (body) => ({ ok: true, body: { BODY: body }, dropped: [] }),
  answer: (body) => body["CHAT"] as JsonObject,
  asEvents: () => [],
  events: () => ({
    push: (event, data) => [{ event, data: data.toLowerCase() }],
    end: () => [{ event: null, data: "[DONE]" }],
    refuse: () => [],
    usage: null,
    hasFailed: false,
    heldBytes: 0,
    unsentChars: 0,
  }),
};

t.test(
  "responses from a provider of a third dialect are translated by way of chat completions",
  async (t) => {
    const throughChat = composeTranslations(responsesToChat, capitals);
    const request = { model: "m", input: "hi" };
    t.strictSame(throughChat.request(request, { ...options, maxTokensDefault: 5 }), {
      ok: true,
      body: { BODY: { model: "m", messages: [{ role: "user", content: "hi" }] } },
      dropped: [],
    });
    t.match(
      throughChat.answer(
        { CHAT: { choices: [{ message: { content: "hello" } }] } },
        { ...context, request },
      ),
      exactly({ object: "response", output: [{ content: [{ text: "hello" }] }] }),
    );
    const events = throughChat.events({ ...context, request });
    const types = [
      ...events.push(null, '{"CHOICES":[{"DELTA":{"CONTENT":"HELLO"},"FINISH_REASON":"STOP"}]}'),
      ...events.end(),
    ].map(({ event }) => event);
    t.equal(types.at(-1), "response.completed");
    t.equal(types.filter((type) => type === "response.output_text.delta").length, 1);
  },
);
