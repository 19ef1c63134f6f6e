import t from "tap";
import { UntranslatableAnswer } from "../../../proxy/dialects/shared/translation.js";
import {
  type AnswerTranslator,
  translatedUpstream,
} from "../../../proxy/dialects/translated-upstream.js";
import type { Upstream, UpstreamSink } from "../../../proxy/upstream/upstream.js";

/**
 * Translates to lower case and drops stars. A question mark is invalid, a hash sign is too large,
 * and an answer that begins with a dash is no valid answer.
 */
const lower = (wantsStream = false): AnswerTranslator => {
  let buffered = "";
  return {
    buffer: (chunk) => {
      if (chunk.includes("#")) throw new UntranslatableAnswer("that is too much");
      buffered += chunk.toString();
    },
    translateBuffered: () => {
      if (buffered.includes("?")) throw new UntranslatableAnswer("a question is no answer");
      if (buffered.startsWith("-")) return { form: "untouched", bytes: Buffer.from(buffered) };
      return {
        form: wantsStream ? "events" : "answer",
        bytes: Buffer.from(buffered.toLowerCase()),
      };
    },
    wantsStream,
    streamType: "text/event-stream; charset=utf-8",
    push: (chunk) => {
      if (chunk.includes("?")) throw new UntranslatableAnswer("a question is no event");
      return chunk.equals(Buffer.from("*")) ? null : Buffer.from(chunk.toString().toLowerCase());
    },
    end: () => Buffer.from("end"),
    hasFailed: false,
    untranslatedBytes: 0,
    refused: null,
    usage: null,
  };
};

/** A call through the translation: the provider's side, and what the client's side received. */
function call(translator: AnswerTranslator = lower()): {
  readonly provider: UpstreamSink;
  readonly received: string[];
  readonly aborted: () => number;
} {
  const received: string[] = [];
  let provider: UpstreamSink | null = null;
  let aborted = 0;
  const upstream: Upstream = {
    send: (_, sink) => {
      provider = sink;
      return { isSent: true, pause() {}, resume() {}, abort: () => void aborted++ };
    },
    redact: (text) => text.replaceAll("secret", "[redacted]"),
    close: () => Promise.resolve(),
  };
  translatedUpstream(upstream, translator).send(
    { method: "POST", path: "/x", headers: [], body: null, isRepeatable: true },
    {
      onHead: (status, headers) =>
        void received.push(
          `head ${status}${headers.includes("text/event-stream; charset=utf-8") ? " stream" : ""}`,
        ),
      onData: (chunk) => void received.push(chunk.toString()),
      onEnd: () => void received.push("END"),
      onFailure: ({ kind, reason }) => void received.push(`${kind}: ${reason}`),
      onBug: (error) => void received.push(`bug: ${String(error)}`),
    },
  );
  return { provider: provider!, received, aborted: () => aborted };
}

const json = ["content-type", "application/json"];

/** What the client's side receives of a non-streamed answer. */
function receivedOf(
  status: number,
  body: string,
  translator?: AnswerTranslator,
): readonly string[] {
  const { provider, received } = call(translator);
  provider.onHead(status, json);
  provider.onData(Buffer.from(body));
  provider.onEnd();
  return received;
}

const events = [Buffer.from("Content-Type"), Buffer.from("text/event-stream; charset=utf-8")];

t.test("a non-streamed answer is translated when it is complete", async (t) => {
  const { provider, received } = call();
  provider.onHead(200, json);
  provider.onData(Buffer.from("AB"));
  provider.onData(Buffer.from("CD"));
  t.same(received, ["head 200"]);
  provider.onEnd();
  t.same(received, ["head 200", "abcd", "END"]);
});

t.test(
  "a stream is translated piece by piece; a piece that gives nothing isn't passed on",
  async (t) => {
    const { provider, received } = call(lower(true));
    provider.onHead(200, events);
    for (const piece of ["A", "*", "B"]) provider.onData(Buffer.from(piece));
    t.same(received, ["head 200", "a", "b"]);
    provider.onEnd();
    t.same(received, ["head 200", "a", "b", "end", "END"]);
  },
);

t.test(
  "a non-streamed answer to a streaming request is sent as a stream when it is complete; an error is sent unchanged",
  async (t) => {
    const { provider, received } = call(lower(true));
    provider.onHead(200, ["Content-Type", "application/json", "x-a", "b"]);
    provider.onData(Buffer.from("AB"));
    t.same(received, []);
    provider.onEnd();
    t.same(received, ["head 200 stream", "ab", "END"]);
    t.same(receivedOf(200, "-NO", lower(true)), ["head 200", "-NO", "END"]);
    t.same(receivedOf(200, "?", lower(true)), [
      "head 200",
      "untranslatable: a question is no answer",
    ]);
    const cut = call(lower(true));
    cut.provider.onHead(200, json);
    cut.provider.onFailure({ kind: "broken", reason: "ECONNRESET" });
    t.same(cut.received, ["head 200", "broken: ECONNRESET"]);
  },
);

t.test(
  "a stream for a request that didn't ask for one can't be translated, and its call is aborted",
  async (t) => {
    const { provider, received, aborted } = call();
    provider.onHead(200, events);
    provider.onData(Buffer.from("A"));
    provider.onEnd();
    t.same(
      [received, aborted()],
      [
        [
          "head 200",
          "untranslatable: it is a stream of events, but the request didn't ask for a stream",
        ],
        1,
      ],
    );
  },
);

t.test("an error passes unchanged, and so does a failure", async (t) => {
  t.same(receivedOf(429, "SLOW?"), ["head 429", "SLOW?", "END"]);
  const cut = call(lower(true));
  cut.provider.onHead(200, events);
  cut.provider.onFailure({ kind: "broken", reason: "ECONNRESET" });
  t.same(cut.received, ["head 200", "broken: ECONNRESET"]);
});

t.test(
  "an invalid answer is untranslatable and reported once, and its call is aborted",
  async (t) => {
    t.same(receivedOf(200, "WHY?"), ["head 200", "untranslatable: a question is no answer"]);
    const stream = call(lower(true));
    stream.provider.onHead(200, events);
    stream.provider.onData(Buffer.from("A"));
    stream.provider.onData(Buffer.from("?"));
    stream.provider.onData(Buffer.from("B"));
    stream.provider.onEnd();
    stream.provider.onFailure({ kind: "broken", reason: "again" });
    t.same(stream.received, ["head 200", "a", "untranslatable: a question is no event"]);
    t.equal(stream.aborted(), 1);
  },
);

t.test("an answer that is too large to buffer isn't read to its end", async (t) => {
  const { provider, received, aborted } = call();
  provider.onHead(200, json);
  for (const piece of ["A", "#", "B"]) provider.onData(Buffer.from(piece));
  provider.onEnd();
  t.same([received, aborted()], [["head 200", "untranslatable: that is too much"], 1]);
});

t.test("an error in Sluice's own code isn't treated as the provider's", async (t) => {
  const { provider, received } = call({
    buffer: () => {},
    translateBuffered: () => {
      throw new TypeError("ours");
    },
    wantsStream: false,
    streamType: "text/event-stream; charset=utf-8",
    push: () => null,
    end: () => null,
    hasFailed: false,
    untranslatedBytes: 0,
    refused: null,
    usage: null,
  });
  provider.onHead(200, json);
  provider.onEnd();
  t.same(received, ["head 200", "bug: TypeError: ours"]);
});

t.test(
  "a stream whose translation has failed is aborted, and ends for the client after the error event",
  async (t) => {
    let failed = false;
    const failing: AnswerTranslator = {
      buffer: () => {},
      translateBuffered: () => ({ form: "answer", bytes: Buffer.alloc(0) }),
      wantsStream: true,
      streamType: "text/event-stream; charset=utf-8",
      push: (chunk) => {
        failed = chunk.includes("?");
        return failed ? Buffer.from("error") : chunk;
      },
      end: () => Buffer.from("not sent"),
      get hasFailed() {
        return failed;
      },
      untranslatedBytes: 0,
      refused: null,
      usage: null,
    };
    const { provider, received, aborted } = call(failing);
    provider.onHead(200, events);
    provider.onData(Buffer.from("a"));
    provider.onData(Buffer.from("?"));
    t.same([received, aborted()], [["head 200", "a", "error", "END"], 1]);
    provider.onData(Buffer.from("b"));
    provider.onEnd();
    provider.onFailure({ kind: "broken", reason: "ECONNRESET" });
    t.equal(received.length, 4, "and later data is ignored");
  },
);
