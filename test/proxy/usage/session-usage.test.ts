import t from "tap";
import { SessionUsage } from "../../../proxy/usage/session-usage.js";
import { sessionChargesPerSecond, tokensPerResponseMax } from "../../../shared/bounds.js";
import { exactly } from "../../support/patterns/exactly.js";

const created = { type: "response.created", response: { usage: null } };
const done = (usage: unknown) => ({
  type: "response.done",
  response: { status: "completed", usage },
});
const text = (delta: string) => ({ type: "response.output_text.delta", delta });
const tokens = (input: number, output: number, cached = 0) => ({
  total_tokens: input + output,
  input_tokens: input,
  output_tokens: output,
  input_token_details: { cached_tokens: cached },
});
const writing = (input: number, written: number) => ({
  input_tokens: input,
  output_tokens: 0,
  input_token_details: { cache_write_tokens: written },
});

function after(...events: readonly unknown[]) {
  const usage = new SessionUsage();
  for (const event of events)
    usage.onMessage(Buffer.from(typeof event === "string" ? event : JSON.stringify(event)));
  return { responding: usage.responding, ...usage.charge() };
}

t.test("the usage of a session is the sum of its responses", async (t) => {
  const table: readonly (readonly [name: string, events: readonly unknown[], expected: object])[] =
    [
      ["nothing", [], { usage: null, estimated: false, note: null, responding: false }],
      [
        "one response",
        [created, text("hello"), done(tokens(10, 5))],
        {
          usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 0 },
          estimated: false,
          note: null,
        },
      ],
      [
        "two, with cached input",
        [created, done(tokens(10, 5, 4)), created, done(tokens(20, 1, 6))],
        { usage: { inputTokens: 30, outputTokens: 6, totalTokens: 36, cachedInputTokens: 10 } },
      ],
      [
        "two at once",
        [created, created, done(tokens(1, 1)), done(tokens(2, 2))],
        { usage: { totalTokens: 6 }, estimated: false, responding: false },
      ],
      [
        "one that is cut",
        [
          created,
          text("x".repeat(40)),
          { type: "response.output_audio_transcript.delta", delta: "é".repeat(20) },
        ],
        {
          usage: { inputTokens: 0, outputTokens: 20, totalTokens: 20 },
          estimated: true,
          responding: true,
        },
      ],
      [
        "sound isn't text",
        [created, { type: "response.output_audio.delta", delta: "A".repeat(4000) }],
        { usage: { totalTokens: 0 }, estimated: true },
      ],
      [
        "what the user says isn't the answer",
        [
          created,
          { type: "conversation.item.input_audio_transcription.delta", delta: "x".repeat(4000) },
        ],
        { usage: { totalTokens: 0 } },
      ],
      [
        "one without usage",
        [created, text("x".repeat(8)), done(null), created, done(tokens(1, 1))],
        { usage: { totalTokens: 4 }, estimated: true },
      ],
      [
        "invalid",
        [created, text("x".repeat(8)), done({ input_tokens: -1, output_tokens: 5 })],
        {
          usage: { totalTokens: 2 },
          estimated: true,
          note: /usage not charged: prompt_tokens must be/,
        },
      ],
      [
        "more than a record takes",
        [created, done(tokens(tokensPerResponseMax, 0)), created, done(tokens(1, 0))],
        { usage: { totalTokens: tokensPerResponseMax }, note: /beyond 1000000000 at once/ },
      ],
      [
        "more output than a record takes",
        [created, done(tokens(0, tokensPerResponseMax - 1)), created, done(tokens(0, 2))],
        {
          usage: { totalTokens: tokensPerResponseMax - 1 },
          note: /beyond 1000000000 at once/,
        },
      ],
      [
        "as much as a record takes",
        [created, done(tokens(1, tokensPerResponseMax - 2)), created, done(tokens(7, 2))],
        { usage: { inputTokens: 8, outputTokens: tokensPerResponseMax }, note: null },
      ],
      [
        "as much input as a record takes",
        [created, done(tokens(1, 0)), created, done(tokens(tokensPerResponseMax - 1, 0))],
        { usage: { inputTokens: tokensPerResponseMax }, note: null },
      ],
      [
        "two at once, of which one is done",
        [created, created, done(tokens(1, 1))],
        { usage: { totalTokens: 4 }, estimated: true, responding: true },
      ],
      [
        "one that is done without having begun",
        [done(tokens(1, 1)), created, text("x".repeat(8)), done(tokens(1, 1))],
        { usage: { totalTokens: 4 }, estimated: false, responding: false },
      ],
      [
        "text of a response whose usage was reported",
        [
          created,
          text("x".repeat(80)),
          done(tokens(1, 1)),
          created,
          text("x".repeat(8)),
          done(null),
        ],
        { usage: { totalTokens: 6 }, estimated: true },
      ],
      [
        "what was odd about one, though not about the next",
        [created, done(tokens(1, 1, 99)), created, done(tokens(1, 1)), created, done(null)],
        { usage: { totalTokens: 6 }, note: /cached/ },
      ],
      [
        "one that is done, and says nothing of itself",
        [created, text("x".repeat(8)), { type: "response.done" }],
        { usage: { totalTokens: 2 }, estimated: true, responding: false },
      ],
      [
        "two that wrote to a cache",
        [created, done(writing(10, 4)), created, done(writing(20, 6))],
        { usage: { inputTokens: 30, cacheWriteInputTokens: 10 } },
      ],
      [
        "costs that are more than an amount may be",
        [
          created,
          done({ ...tokens(1, 1), cost: 9_000 }),
          created,
          done({ ...tokens(1, 1), cost: 9_000 }),
        ],
        { usage: { totalTokens: 4, reportedCost: null } },
      ],
      [
        "costs that were reported",
        [
          created,
          done({ ...tokens(1, 1), cost: 0.25 }),
          created,
          done({ ...tokens(1, 1), cost: 0.5 }),
        ],
        { usage: { reportedCost: 750_000_000_000 } },
      ],
      [
        "costs that were reported of some",
        [created, done({ ...tokens(1, 1), cost: 0.25 }), created, done(tokens(1, 1))],
        { usage: { reportedCost: null } },
      ],
      [
        "names within texts",
        [
          {
            type: "session.updated",
            session: { instructions: '"response.done" and "response.created"' },
          },
          { type: "error", error: { event: created } },
        ],
        { usage: null, responding: false },
      ],
      [
        "what is no event",
        [
          '"response.done"',
          '["response.done"]',
          '{"type":"response.done"',
          '{"a":"response.created"}',
        ],
        { usage: null, responding: false },
      ],
    ];
  for (const [name, events, expected] of table) t.match(after(...events), expected, name);
});

t.test(
  "the text of a message that was too large counts, and unread messages are noted",
  async (t) => {
    for (const unread of [1, 2]) {
      const usage = new SessionUsage();
      usage.onMessage(Buffer.from(JSON.stringify(created)));
      usage.onMessage(Buffer.from(JSON.stringify(text(""))), 4000);
      t.match(usage.charge(unread), {
        usage: { outputTokens: 1000 },
        estimated: true,
        note: `too large to be read: ${unread} messages`,
      });
    }
  },
);

t.test("what is done is charged once, and what is left at the end", async (t) => {
  const usage = new SessionUsage();
  const hear = (...events: readonly unknown[]): void => {
    for (const event of events) usage.onMessage(Buffer.from(JSON.stringify(event)));
  };
  hear(created);
  t.equal(usage.takeDone(0), null);
  hear(done(tokens(10, 5)));
  t.match(usage.takeDone(0), { usage: { totalTokens: 15 }, estimated: false });
  t.equal(usage.takeDone(0), null);
  hear(created, text("x".repeat(8)), done(null), created, done(tokens(1, 1)));
  t.match(usage.takeDone(0), { usage: { totalTokens: 19 }, estimated: true });
  hear(created, done({ ...tokens(1, 1) }), created, text("x".repeat(40)));
  t.match(usage.charge(), { usage: { totalTokens: 14 }, estimated: true });
  const all = new SessionUsage();
  all.onMessage(Buffer.from(JSON.stringify(done(tokens(1, 1)))));
  all.takeDone(0);
  t.match(all.charge(), { usage: { totalTokens: 0, reportedCost: null }, estimated: false });
});

t.test("a session whose costs were reported ends with nothing more to pay", async (t) => {
  for (const [cost, reportedCost] of [
    [0.25, 0],
    [undefined, null],
  ] as const) {
    const usage = new SessionUsage();
    usage.onMessage(Buffer.from(JSON.stringify(done({ ...tokens(1, 1), cost }))));
    usage.takeDone(0);
    t.match(usage.charge(), { usage: { totalTokens: 0, reportedCost }, estimated: false });
  }
});

t.test("responses that are done faster than is charged are charged together", async (t) => {
  const usage = new SessionUsage();
  let charges = 0;
  let charged = 0;
  const hear = (nowMonoMs: number): void => {
    usage.onMessage(Buffer.from(JSON.stringify(done(tokens(1, 0)))));
    const spent = usage.takeDone(nowMonoMs);
    if (spent === null) return;
    charges++;
    charged += spent.usage.totalTokens;
  };
  for (let i = 0; i < 100; i++) hear(999);
  t.same([charges, charged], [sessionChargesPerSecond, sessionChargesPerSecond]);
  hear(1000);
  t.same([charges, charged], [sessionChargesPerSecond + 1, 101]);
});

t.test("what was charged is neither charged nor marked again", async (t) => {
  const usage = new SessionUsage();
  const say = (event: unknown): void => usage.onMessage(Buffer.from(JSON.stringify(event)));
  say(created);
  say(text("x".repeat(8)));
  say(done(null));
  t.match(usage.takeDone(0), { usage: { outputTokens: 2 }, estimated: true });
  say(created);
  say(done(tokens(3, 4)));
  t.match(usage.takeDone(1000), { usage: { inputTokens: 3, outputTokens: 4 }, estimated: false });
  t.strictSame(usage.charge(), {
    usage: {
      inputTokens: 0,
      outputTokens: 0,
      totalTokens: 0,
      cachedInputTokens: 0,
      cacheWriteInputTokens: 0,
      reportedCost: null,
      details: null,
    },
    estimated: false,
    atMost: null,
    note: null,
  });
});

t.test(
  "what was asked for, or has begun, and isn't done may be more than its estimate",
  async (t) => {
    const create = { type: "response.create" };
    const item = { type: "conversation.item.create", item: { text: "x".repeat(343) } };
    const sound = { type: "input_audio_buffer.append", audio: "A".repeat(948) };
    const begun = (most: unknown) => ({
      type: "response.created",
      response: { usage: null, max_output_tokens: most },
    });
    const refused = { type: "error", error: { code: "conversation_already_has_active_response" } };
    const recording = {
      type: "conversation.item.create",
      item: { content: [{ type: "input_audio", audio: "A".repeat(40_000) }] },
    };
    const length = (event: unknown): number => JSON.stringify(event).length;
    const sent = length(item) + length(sound) + length(create);
    const text = Math.ceil((length(item) + length(create)) / 4);
    /** The client's events are those that a client sends. */
    const table: Readonly<Record<string, readonly [events: readonly object[], expected: object]>> =
      {
        "asked for, and not begun": [
          [item, sound, create],
          {
            usage: { inputTokens: text, outputTokens: 0 },
            estimated: true,
            atMost: { inputTokens: sent, outputTokens: 4096 },
          },
        ],
        "begun, with a maximum of its own": [
          [
            item,
            sound,
            create,
            begun(500),
            { type: "response.output_text.delta", delta: "12345678" },
          ],
          {
            usage: { inputTokens: text, outputTokens: 2 },
            atMost: { inputTokens: sent, outputTokens: 500 },
          },
        ],
        "begun by the provider, without one": [
          [item, sound, begun("inf")],
          { atMost: { inputTokens: sent - length(create), outputTokens: 4096 } },
        ],
        "after others, of which it has the text": [
          [create, begun("inf"), done(tokens(10, 50)), item, begun(7), begun(9)],
          {
            usage: { inputTokens: 10 + Math.ceil((2 * (4 * 60 + length(item))) / 4) },
            atMost: {
              inputTokens: 10 + 2 * (length(item) + length(create) + 50),
              outputTokens: 50 + 2 * 9,
            },
          },
        ],
        "done, and unknown of none": [
          [item, create, begun(7), done(tokens(10, 5))],
          { usage: { totalTokens: 15 }, estimated: false, atMost: null },
        ],
        refused: [[item, create, refused], { usage: null, estimated: false, atMost: null }],
        "done without usage": [
          [item, create, begun(7), done(null)],
          { usage: { inputTokens: text }, estimated: true, atMost: null },
        ],
        failed: [
          [item, create, begun(7), { type: "response.done", response: { status: "failed" } }],
          { usage: { totalTokens: 0 }, atMost: null },
        ],
        "a recording": [[recording, create], { usage: { inputTokens: 1529 } }],
        "another event that says so": [
          [{ type: "session.update", session: { instructions: '"response.create"' } }],
          { usage: null, atMost: null },
        ],
      };
    for (const [name, [events, expected]] of Object.entries(table)) {
      const usage = new SessionUsage();
      for (const event of events) {
        const bytes = Buffer.from(JSON.stringify(event));
        const { type } = event as { type: string };
        if (type === "error" || /^response\.(?!create$)/.test(type)) usage.onMessage(bytes);
        else {
          usage.bytesSent += bytes.length;
          usage.onSent(bytes);
        }
      }
      t.match(usage.charge(0, 4096), expected, name);
    }
    const unknown = new SessionUsage();
    unknown.onSent(Buffer.from(JSON.stringify(create)));
    t.match(unknown.charge(), { atMost: { outputTokens: 1_000_000 } });
  },
);

t.test("a session that only transcribes is charged its transcriptions", async (t) => {
  const transcribed = {
    type: "conversation.item.input_audio_transcription.completed",
    transcript: "hello",
    usage: { type: "tokens", ...tokens(29, 14) },
  };
  const byLength = { ...transcribed, usage: { type: "duration", seconds: 3.4 } };
  const opened = (type: string, of: string) => ({ type, session: { type: of } });
  for (const [events, totalTokens] of [
    [[opened("session.created", "transcription"), transcribed, byLength, transcribed], 86],
    [[opened("session.created", ""), opened("session.updated", "transcription"), transcribed], 43],
    [[opened("transcription_session.updated", ""), transcribed], 43],
    [[opened("session.created", "realtime"), transcribed, created, done(tokens(1, 1))], 2],
  ] as const)
    t.match(after(...events), { usage: { totalTokens }, estimated: false, note: null });
  t.match(after(opened("session.created", "realtime"), transcribed), { usage: null });
});

t.test("a response of the Responses API ends in an event of its own", async (t) => {
  for (const type of ["response.completed", "response.incomplete", "response.failed"])
    t.match(
      after(created, { type, response: { usage: tokens(10, 5) } }),
      { usage: { totalTokens: 15 }, estimated: false, atMost: null, responding: false },
      type,
    );
});

t.test("what is odd about a usage that is charged is noted", async (t) => {
  t.match(after(created, done(tokens(1, 1, 99))), { usage: { totalTokens: 2 }, note: /cached/ });
  t.match(after(created, done(tokens(1, 1, 1))), { usage: { totalTokens: 2 }, note: null });
});

t.test(
  "a transcription within a conversation is a part at the price of its own model",
  async (t) => {
    const spoken = {
      type: "conversation.item.input_audio_transcription.completed",
      transcript: "hello",
      usage: { type: "tokens", input_tokens: 40, output_tokens: 3, total_tokens: 43 },
    };
    const byLength = { ...spoken, usage: { type: "duration", seconds: 3 } };
    for (const session of [
      { type: "realtime", audio: { input: { transcription: { model: "gpt-4o-transcribe" } } } },
      { input_audio_transcription: { model: "gpt-4o-transcribe" } },
    ]) {
      const { usage } = after(
        { type: "session.updated", session },
        spoken,
        created,
        done(tokens(1, 1)),
      );
      t.equal(usage?.totalTokens, 45);
      t.match(
        usage?.parts,
        exactly([
          { model: null, usage: { inputTokens: 1, outputTokens: 1 } },
          { model: "gpt-4o-transcribe", usage: { inputTokens: 40, outputTokens: 3 } },
        ]),
      );
    }
    const apart = new SessionUsage();
    const opened = { input_audio_transcription: { model: "gpt-4o-transcribe" } };
    for (const event of [
      { type: "session.updated", session: opened },
      spoken,
      created,
      done(tokens(1, 1)),
    ])
      apart.onMessage(Buffer.from(JSON.stringify(event)));
    t.match(apart.takeDone(0), { usage: { totalTokens: 2, parts: undefined } });
    t.match(apart.takeDone(0), { usage: { totalTokens: 43 } }, "without a price, it is alone so");
    t.equal(apart.takeDone(0), null);
    const session = { input_audio_transcription: { model: "whisper-1" } };
    t.match(after({ type: "session.created", session }, byLength).usage, {
      totalTokens: 0,
      parts: exactly([{ model: "whisper-1", usage: { details: { counts: { audioMs: 3000 } } } }]),
    });
  },
);
