/**
 * Tens of thousands of names that all differ, wherever an outsider writes names: fields, members,
 * parameters, parts of a form, keys of a file. The work grows with their number, and no faster.
 */
import { FieldFinder } from "../../../proxy/body/multipart.js";
import { PeekedBody } from "../../../proxy/body/passed/peeked-body.js";
import { chooseDialect } from "../../../proxy/dialects/choose-dialect.js";
import { UntranslatableAnswer } from "../../../proxy/dialects/shared/translation.js";
import { createAnswerTranslator } from "../../../proxy/dialects/translate-answer.js";
import { parseObjectText } from "../../../proxy/objects/object-body.js";
import { passedQuery, queryProblem } from "../../../proxy/upstream/passthrough-path.js";
import { resolveConfig } from "../../../shared/config/resolve/resolve-config.js";
import { readLimitsFile } from "../../../shared/limit-files/read-limits-file.js";
import type { Operation } from "../../../shared/operation.js";
import { FakeExchange } from "../../proxy/fake-exchange.js";
import { createRandom, type Random } from "../../sim/random.js";
import { mustBeLinear } from "../linear-time.js";
import type { RequestSample } from "../samples/request-samples.js";
import { tryBody } from "../targets/try-body.js";
import { growthTarget } from "./growth-target.js";

/** Names that tables of names may take badly: numbers, long ones that begin alike, and so on. */
const spellings: readonly ((at: number) => string)[] = [
  (at) => `n${at}`,
  (at) => String(at),
  (at) => String(4_000_000_000 - at * 7),
  (at) => `${"same".repeat(20)}${at}`,
  (at) => `\u00e9${at}`,
  (at) => `\\u0061${at}`,
  (at) => `MODEL${at}`,
];

/** Where names stand, as the text around them; `NAMES` are the members of an object. */
const bodies: readonly (readonly [RequestSample["operation"], string])[] = [
  ["chat_completions", '{"model":"m","messages":[],NAMES}'],
  ["chat_completions", '{"model":"m","messages":[],"metadata":{NAMES}}'],
  ["chat_completions", '{"model":"m","messages":[{"role":"user","content":"x",NAMES}]}'],
  [
    "chat_completions",
    '{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{NAMES}}}}]}',
  ],
  ["chat_completions", '{"model":"m","messages":[],"stream_options":{NAMES}}'],
  [
    "messages",
    '{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{NAMES}}]}]}',
  ],
  [
    "responses",
    '{"model":"m","input":"x","text":{"format":{"type":"json_schema","name":"s","schema":{NAMES}}}}',
  ],
  [
    "responses",
    '{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"x",NAMES}]}]}',
  ],
  ["embeddings", '{"model":"m","input":["x"],"extra":{NAMES}}'],
  [
    "generate_content",
    '{"contents":[{"role":"user","parts":[{"functionCall":{"name":"f","args":{NAMES}}}]}]}',
  ],
];

type Entrance = (names: readonly string[], random: Random) => unknown;

const members = (names: readonly string[]): string => names.map((name) => `"${name}":1`).join();
const rows = (names: readonly string[], row: (name: string) => string): string =>
  names.map(row).join("");

/** What Anthropic answers, on its way to a client of chat completions. */
function translateAnswer(names: readonly string[], isStream: boolean): void {
  const { translation } = chooseDialect("chat_completions", new Set<Operation>(["messages"]))!;
  const { memory } = new FakeExchange({});
  const context = { model: "m", nowSeconds: 1, provider: "p", requestId: "r", request: {} };
  const translator = createAnswerTranslator(translation!, context, { memory });
  const input = `{${members(names)}}`;
  const call = `{"type":"tool_use","id":"t","name":"f","input":${input}}`;
  const answer = `{"type":"message","role":"assistant","content":[${call}],"usage":${input},${members(names)}}`;
  try {
    if (isStream) translator.push(Buffer.from(`event: message_start\ndata: ${answer}\n\n`));
    else translator.buffer(Buffer.from(answer));
    if (isStream) translator.end();
    else translator.translateBuffered();
  } catch (error) {
    if (!(error instanceof UntranslatableAnswer)) throw error;
  }
}

const entrances: Readonly<Record<string, Entrance>> = {
  ...Object.fromEntries(
    bodies.map(([operation, text]): readonly [string, Entrance] => [
      `${operation}: ${text}`,
      (names, random) =>
        tryBody(
          { operation, body: {} } as RequestSample,
          Buffer.from(text.replace("NAMES", () => members(names))),
          random,
        ),
    ]),
  ),
  "the body of an object": (names) => parseObjectText(`{"metadata":{${members(names)}}}`),
  "the fields of an object": (names) => parseObjectText(`{${members(names)}}`),
  "parameters of a query": (names) => {
    const query = names.map((name) => `${encodeURIComponent(name)}=1`).join("&");
    passedQuery(query, null);
    queryProblem("POST", query, { type: "gemini", baseUrl: "" });
  },
  "parts of a form": (names) => {
    const finder = new FieldFinder("b", "model");
    finder.push(
      Buffer.from(
        rows(names, (name) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n1\r\n`),
      ),
    );
  },
  "a body that passes": async (names) => {
    const memory = { hold: () => true, release() {} };
    const failed = (): Error => new Error("refused");
    async function* pieces(): AsyncGenerator<Buffer> {
      yield Buffer.from(`{${members(names)}}`);
    }
    const reading = { bytesAnnounced: null, memory, noMemory: failed, refused: failed };
    await new PeekedBody(pieces(), reading as never).model({
      contentType: "application/json",
      contentEncoding: "",
      requiredWithin: 1e9,
    });
  },
  "an answer": (names) => translateAnswer(names, false),
  "an event of a stream": (names) => translateAnswer(names, true),
  "keys of the configuration": (names) => {
    const text = `providers:\n${rows(names, (name) => `  "${name}": 1\n`)}`;
    resolveConfig({ file: { path: "/f", text }, flags: {}, env: {}, cwd: "/", uid: 0 });
  },
  "a file of limits": (names) => {
    const text = `rate_limits:\n  - user_path: /a\n${rows(names, (name) => `    "${name}": 1\n`)}`;
    readLimitsFile({ file: "f", text, env: {} });
  },
};

async function tryGrowth(random: Random): Promise<void> {
  const entrance = random.pick(Object.keys(entrances));
  const spelling = random.pick(spellings);
  const seed = random.int(0, 2 ** 30);
  await mustBeLinear(
    () => `${entrance}, names like ${spelling(7)}`,
    10_000,
    async (count) => {
      const names = Array.from({ length: count }, (_, at) => spelling(at));
      for (let round = 0; round < 2; round++)
        await entrances[entrance]!(names, createRandom(seed + round));
    },
  );
}

export const manyNames = growthTarget("many-names", 0.0005, tryGrowth);
