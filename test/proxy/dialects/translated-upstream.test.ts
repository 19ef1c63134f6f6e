import t from "tap";
import {
  type AnswerTranslator,
  translatedUpstream,
} from "../../../proxy/dialects/translated-upstream.js";
import { UntranslatableAnswer } from "../../../proxy/dialects/translation/translation.js";
import type { Upstream, UpstreamSink } from "../../../proxy/upstream/upstream.js";

/**
 * Turns capitals into small letters; hides stars; a question mark makes no sense, and what begins
 * with a dash is no answer.
 */
const lower = (wantsStream = false): AnswerTranslator => {
  let kept = "";
  return {
    buffer: (chunk) => {
      if (chunk.includes("#")) throw new UntranslatableAnswer("that is too much");
      kept += chunk.toString();
    },
    translateBuffered: () => {
      if (kept.includes("?")) throw new UntranslatableAnswer("a question is no answer");
      if (kept.startsWith("-")) return { form: "untouched", bytes: Buffer.from(kept) };
      return { form: wantsStream ? "events" : "answer", bytes: Buffer.from(kept.toLowerCase()) };
    },
    wantsStream,
    push: (chunk) => {
      if (chunk.includes("?")) throw new UntranslatableAnswer("a question is no event");
      return chunk.equals(Buffer.from("*")) ? null : Buffer.from(chunk.toString().toLowerCase());
    },
    end: () => Buffer.from("end"),
    failed: false,
    untranslatedBytes: 0,
    refused: null,
    usage: null,
  };
};

/**
 * A call through the translation: what the provider's side may do, and what the client's side
 * heard.
 */
function call(translator: AnswerTranslator = lower()): {
  readonly provider: UpstreamSink;
  readonly heard: string[];
  readonly aborted: () => number;
} {
  const heard: string[] = [];
  let provider: UpstreamSink | null = null;
  let aborted = 0;
  const upstream: Upstream = {
    send: (_, sink) => {
      provider = sink;
      return { pause() {}, resume() {}, abort: () => void aborted++ };
    },
    redact: (text) => text.replaceAll("secret", "[redacted]"),
    close: () => Promise.resolve(),
  };
  translatedUpstream(upstream, translator).send(
    { method: "POST", path: "/x", headers: [], body: null },
    {
      onHead: (status, headers) =>
        void heard.push(
          `head ${status}${headers.includes("text/event-stream; charset=utf-8") ? " stream" : ""}`,
        ),
      onData: (chunk) => void heard.push(chunk.toString()),
      onEnd: () => void heard.push("END"),
      onFailure: ({ kind, reason }) => void heard.push(`${kind}: ${reason}`),
    },
  );
  return { provider: provider!, heard, aborted: () => aborted };
}

const json = ["content-type", "application/json"];

/** What the client's side hears of a whole answer. */
function heardOfWhole(
  status: number,
  body: string,
  translator?: AnswerTranslator,
): readonly string[] {
  const { provider, heard } = call(translator);
  provider.onHead(status, json);
  provider.onData(Buffer.from(body));
  provider.onEnd();
  return heard;
}

const events = [Buffer.from("Content-Type"), Buffer.from("text/event-stream; charset=utf-8")];

t.test("a whole answer is translated once it is whole", async (t) => {
  const { provider, heard } = call();
  provider.onHead(200, json);
  provider.onData(Buffer.from("AB"));
  provider.onData(Buffer.from("CD"));
  t.same(heard, ["head 200"]);
  provider.onEnd();
  t.same(heard, ["head 200", "abcd", "END"]);
});

t.test("a stream is translated piece by piece; what gives nothing isn't passed on", async (t) => {
  const { provider, heard } = call(lower(true));
  provider.onHead(200, events);
  for (const piece of ["A", "*", "B"]) provider.onData(Buffer.from(piece));
  t.same(heard, ["head 200", "a", "b"]);
  provider.onEnd();
  t.same(heard, ["head 200", "a", "b", "end", "END"]);
});

t.test(
  "a whole answer to who asked for a stream is told as one when it is whole; an error in its place isn't",
  async (t) => {
    const { provider, heard } = call(lower(true));
    provider.onHead(200, ["Content-Type", "application/json", "x-a", "b"]);
    provider.onData(Buffer.from("AB"));
    t.same(heard, []);
    provider.onEnd();
    t.same(heard, ["head 200 stream", "ab", "END"]);
    t.same(heardOfWhole(200, "-NO", lower(true)), ["head 200", "-NO", "END"]);
    t.same(heardOfWhole(200, "?", lower(true)), [
      "head 200",
      "untranslatable: a question is no answer",
    ]);
    const cut = call(lower(true));
    cut.provider.onHead(200, json);
    cut.provider.onFailure({ kind: "broken", reason: "ECONNRESET" });
    t.same(cut.heard, ["head 200", "broken: ECONNRESET"]);
  },
);

t.test(
  "a stream to who asked for a whole answer can't be translated, and isn't listened to",
  async (t) => {
    const { provider, heard, aborted } = call();
    provider.onHead(200, events);
    provider.onData(Buffer.from("A"));
    provider.onEnd();
    t.same(
      [heard, aborted()],
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

t.test("an error passes as it is, and so does a failure", async (t) => {
  t.same(heardOfWhole(429, "SLOW?"), ["head 429", "SLOW?", "END"]);
  const cut = call(lower(true));
  cut.provider.onHead(200, events);
  cut.provider.onFailure({ kind: "broken", reason: "ECONNRESET" });
  t.same(cut.heard, ["head 200", "broken: ECONNRESET"]);
});

t.test(
  "what makes no sense is untranslatable, said once; the provider is asked for no more of it",
  async (t) => {
    t.same(heardOfWhole(200, "WHY?"), ["head 200", "untranslatable: a question is no answer"]);
    const stream = call(lower(true));
    stream.provider.onHead(200, events);
    stream.provider.onData(Buffer.from("A"));
    stream.provider.onData(Buffer.from("?"));
    stream.provider.onData(Buffer.from("B"));
    stream.provider.onEnd();
    stream.provider.onFailure({ kind: "broken", reason: "again" });
    t.same(stream.heard, ["head 200", "a", "untranslatable: a question is no event"]);
    t.equal(stream.aborted(), 1);
  },
);

t.test("an answer that can't be kept isn't read to its end", async (t) => {
  const { provider, heard, aborted } = call();
  provider.onHead(200, json);
  for (const piece of ["A", "#", "B"]) provider.onData(Buffer.from(piece));
  provider.onEnd();
  t.same([heard, aborted()], [["head 200", "untranslatable: that is too much"], 1]);
});

t.test("a mistake of our own isn't taken for the provider's", async (t) => {
  const { provider } = call({
    buffer: () => {},
    translateBuffered: () => {
      throw new TypeError("ours");
    },
    wantsStream: false,
    push: () => null,
    end: () => null,
    failed: false,
    untranslatedBytes: 0,
    refused: null,
    usage: null,
  });
  provider.onHead(200, json);
  t.throws(() => provider.onEnd(), TypeError);
});

t.test(
  "a stream whose translation has failed isn't listened to any longer, and ends for the client with what it was told",
  async (t) => {
    let failed = false;
    const failing: AnswerTranslator = {
      buffer: () => {},
      translateBuffered: () => ({ form: "answer", bytes: Buffer.alloc(0) }),
      wantsStream: true,
      push: (chunk) => {
        failed = chunk.includes("?");
        return failed ? Buffer.from("error") : chunk;
      },
      end: () => Buffer.from("not sent"),
      get failed() {
        return failed;
      },
      untranslatedBytes: 0,
      refused: null,
      usage: null,
    };
    const { provider, heard, aborted } = call(failing);
    provider.onHead(200, events);
    provider.onData(Buffer.from("a"));
    provider.onData(Buffer.from("?"));
    t.same([heard, aborted()], [["head 200", "a", "error", "END"], 1]);
    provider.onData(Buffer.from("b"));
    provider.onEnd();
    provider.onFailure({ kind: "broken", reason: "ECONNRESET" });
    t.equal(heard.length, 4, "and what it says after that is passed over");
  },
);
