/**
 * Any conversation goes through each translation without losing text, calls, results, images,
 * thinking or usage; what may be lost is in the tables of docs/reference/dialects.md, and told.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { chooseDialect } from "../../../proxy/dialects/choose-dialect.js";
import type { AnswerContext, Translation } from "../../../proxy/dialects/shared/translation.js";
import type { Operation } from "../../../shared/operation.js";
import { assembleChat, assembleGoogle, assembleMessages } from "./assemble-stream.js";
import {
  answerContents,
  answerIn,
  contentsIn,
  contentsOf,
  type DialectName,
  type Proof,
  type ProviderDialect,
  requestAfter,
  requestIn,
  type Step,
} from "./neutral-conversation.js";
import { options } from "./request-options.js";
import { context as sampleContext } from "./sample-answers.js";

const operationOf: Readonly<Record<DialectName, Operation>> = {
  chat: "chat_completions",
  messages: "messages",
  responses: "responses",
  google: "stream_generate_content",
};

/** Whose thinking the provider's models take. */
const proofOf: Readonly<Record<ProviderDialect, Proof>> = {
  chat: "unsigned",
  messages: "signed",
  responses: "openai",
};

const providers: readonly ProviderDialect[] = ["chat", "messages", "responses"];
const clients: readonly DialectName[] = [...providers, "google"];
const pairs = clients.flatMap((client) =>
  providers.flatMap((provider) => {
    const { translation } = chooseDialect(operationOf[client], new Set([operationOf[provider]]))!;
    return translation === null ? [] : [{ client, provider, translation }];
  }),
);

const word = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 8 })
  .filter((text) => text.trim() !== "");
const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,10}$/);
const steps = fc
  .array(
    fc.record({
      asked: fc.array(word, { minLength: 1, maxLength: 2 }),
      picture: fc.option(fc.base64String({ minLength: 4, maxLength: 8 })),
      thought: fc.option(word),
      answered: word,
      calls: fc.array(
        fc.record({
          id: fc.constant(""),
          tool: name,
          input: fc.dictionary(name, word, { maxKeys: 2, noNullPrototype: true }),
          result: word,
        }),
        { maxLength: 2 },
      ),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((steps) =>
    steps.map(
      (step, i): Step => ({
        ...step,
        calls: step.calls.map((call, j) => ({ ...call, id: `call_${i}_${j}` })),
      }),
    ),
  );

t.equal(pairs.length, 9, "all pairs are translated");

/** What the client asks for, so that it gets what it has to send back. */
const keeping: AnswerContext = {
  ...sampleContext,
  request: { stream: true, include: ["reasoning.encrypted_content"], includeThoughts: true },
};

for (const { client, provider, translation } of pairs) {
  t.test(`a conversation from ${client} to ${provider}`, async () => {
    fc.assert(
      fc.property(word, steps, (system, given) => {
        const request = requestIn(client, system, given, proofOf[provider]);
        const result = translation.request(request, options);
        assert(result.ok, JSON.stringify(result));
        assert.deepEqual(result.dropped, []);
        assert.deepEqual(contentsIn(provider, result.body), contentsOf(system, given));
      }),
      { numRuns: 60 },
    );
  });

  t.test(`an answer from ${provider} to ${client}, whole and streamed`, async () => {
    const count = fc.nat(1000);
    const spent = fc.record({ input: count, cached: count, output: count, reasoning: count });
    fc.assert(
      fc.property(steps, spent, ([first], counts) => {
        const usage = { ...counts, output: counts.output + counts.reasoning };
        const step = first!;
        const answer = answerIn(provider, step, usage, proofOf[provider]);
        const contents = contentsOf("", [step]);
        const from = contents.findIndex((thing) => /^(?:thought|assistant) /.test(thing));
        const to = contents.findLastIndex((thing) => /^(?:assistant|call) /.test(thing));
        const expected = [
          contents.slice(from, to + 1),
          usage.input,
          usage.cached,
          usage.output,
          usage.reasoning,
        ];
        assert.deepEqual(
          answerContents(client, translation.answer(answer, keeping)),
          expected,
          "whole",
        );
        const streamed = assembled(client, translation, answer, keeping);
        assert.deepEqual(answerContents(client, streamed), expected, "streamed");
      }),
      { numRuns: 60 },
    );
  });
}

/** The ids that a client tells calls and items apart by. */
const ids: Readonly<Record<DialectName, (answer: unknown) => readonly unknown[]>> = {
  chat: (answer) => {
    const { choices } = answer as { choices: { message: { tool_calls?: { id: unknown }[] } }[] };
    return choices.flatMap(({ message }) => (message.tool_calls ?? []).map(({ id }) => id));
  },
  messages: (answer) => {
    const { content } = answer as { content: { id?: unknown }[] };
    return content.flatMap(({ id }) => (id === undefined ? [] : [id]));
  },
  responses: (answer) => {
    const { output } = answer as { output: { id: unknown; call_id?: unknown }[] };
    return output.flatMap(({ id, call_id: call }) => (call === undefined ? [id] : [id, call]));
  },
  google: (answer) => {
    const { candidates } = answer as {
      candidates: { content: { parts: { functionCall?: { id?: unknown } }[] } }[];
    };
    return candidates.flatMap(({ content }) =>
      content.parts.flatMap(({ functionCall: call }) => (call?.id === undefined ? [] : [call.id])),
    );
  },
};

for (const { client, provider, translation } of pairs)
  t.test(
    `an id is once in an answer from ${provider} to ${client}, also if it was twice`,
    async () => {
      const twice = steps.map(
        ([step]): Step => ({
          ...step!,
          calls: [...step!.calls, ...step!.calls].map((call) => ({ ...call, id: "call_0" })),
        }),
      );
      fc.assert(
        fc.property(twice, (step) => {
          const spent = { input: 1, cached: 0, output: 1, reasoning: 0 };
          const answer = answerIn(provider, step, spent, proofOf[provider]);
          const whole = translation.answer(answer, keeping);
          const streamed = assembled(client, translation, answer, keeping);
          for (const one of [whole, streamed]) {
            const found = ids[client](one);
            assert.ok(found.length >= step.calls.length);
            assert.equal(new Set(found).size, found.length, String(found));
            assert.deepEqual(answerContents(client, one), answerContents(client, whole));
          }
        }),
        { numRuns: 60 },
      );
    },
  );

for (const { client, provider, translation } of pairs)
  t.test(
    `what ${client} got of ${provider}, whole or streamed, goes back with all of it`,
    async () => {
      fc.assert(
        fc.property(word, steps, fc.boolean(), (system, [first], isStreamed) => {
          const step = first!;
          const spent = { input: 1, cached: 0, output: 1, reasoning: 0 };
          const answer = answerIn(provider, step, spent, proofOf[provider]);
          const got = isStreamed
            ? assembled(client, translation, answer, keeping)
            : translation.answer(answer, keeping);
          const sent = translation.request(requestAfter(client, system, step, got), options);
          assert(sent.ok, JSON.stringify(sent));
          assert.deepEqual(sent.dropped, []);
          assert.deepEqual(contentsIn(provider, sent.body), contentsOf(system, [step]));
        }),
        { numRuns: 60 },
      );
    },
  );

function assembled(
  client: DialectName,
  translation: Translation,
  answer: Parameters<Translation["answer"]>[0],
  context: AnswerContext,
): ReturnType<Translation["answer"]> {
  const translator = translation.events(context);
  const events = translation
    .asEvents(answer)
    .flatMap(({ event, data }) => translator.push(event, data));
  const all = [...events, ...translator.end()];
  if (client === "chat") return assembleChat(all);
  if (client === "messages") return assembleMessages(all);
  if (client === "google") return assembleGoogle(all);
  return JSON.parse(all.at(-1)!.data).response;
}
