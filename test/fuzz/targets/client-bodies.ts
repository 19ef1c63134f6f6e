/**
 * Bodies of requests, mutated by their structure and byte by byte: JSON, forms, and what passes
 * through `/p`. Each gives a request for the provider, or a failure with a status of its own;
 * nothing is thrown.
 */
import { valuesMax } from "../../../proxy/body/count-values.js";
import { PeekedBody } from "../../../proxy/body/passed/peeked-body.js";
import { readJsonCall } from "../../../proxy/handlers/json-call.js";
import { readMultipartCall } from "../../../proxy/handlers/multipart-call.js";
import { NoMemory, UploadRefused } from "../../../proxy/http/body-spool.js";
import { bytesOf } from "../../proxy/fake-gateway.js";
import type { Random } from "../../sim/random.js";
import { type FuzzTarget, must } from "../fuzz-target.js";
import { cutBytes, mutateBytes } from "../mutate/mutate-bytes.js";
import { JsonMutator } from "../mutate/mutate-json.js";
import { oddText, runUnit } from "../mutate/odd-values.js";
import { requestSamples } from "../samples/request-samples.js";
import { contextOf, executed, mustBeDeclared, providers, tryBody } from "./try-body.js";

const mutator = new JsonMutator(
  requestSamples.map(({ body }) => body),
  { levels: 60_000, items: 250_000, chars: 6_000_000 },
);

async function tryJson(random: Random): Promise<void> {
  const sample = random.pick(requestSamples);
  const mutated = mutator.text(sample.body, random);
  let bytes: Buffer = Buffer.from(random.chance(0.3) ? withLongTexts(mutated, random) : mutated);
  if (random.chance(0.2)) bytes = mutateBytes(bytes, random);
  await tryBody(sample, bytes, random);
}

const longTextsMax = 50;

/** Lengthens some of a body's strings, so that they are carried through a translation. */
function withLongTexts(json: string, random: Random): string {
  let left = longTextsMax;
  const lengthened = (text: string): string => {
    left--;
    const pad = random.pick(["text ", "\n", " ", "日本", '"\\', "\u0000", "error "]);
    const padding = pad.repeat(Math.ceil(22_000 / pad.length));
    return random.chance(0.5) ? text + padding : padding + text;
  };
  try {
    return JSON.stringify(JSON.parse(json), (_key, value: unknown) =>
      typeof value === "string" && left > 0 && random.chance(0.3) ? lengthened(value) : value,
    );
  } catch {
    return json;
  }
}

/** What makes many values of few bytes. */
const denseItems: readonly ((at: number) => string)[] = [
  () => "{}",
  () => "[]",
  () => "[[[[]]]]",
  () => '""',
  () => "null",
  () => "0.1",
  () => '{"a":0}',
  (at) => `"${at.toString(36)}"`,
  (at) => `{"${at.toString(36)}":0}`,
];

/** Values without number are refused before they are parsed. */
async function tryDense(random: Random): Promise<void> {
  const { operation, body } = random.pick(requestSamples);
  const item = random.pick(denseItems);
  const items = Array.from({ length: valuesMax + random.int(0, 1000) }, (_, at) => item(at));
  const sample = JSON.stringify(body);
  const bytes = Buffer.from(`${sample.slice(0, -1)},"x":[${items.join()}]}`);
  const read = await readJsonCall(operation, contextOf([bytes]));
  must(!read.ok && read.failure?.message.includes("values") === true, "too many values");
}

/** What a form is made of. */
const part = (disposition: string, content: string): string =>
  `--B\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;

function formOf(random: Random): Buffer {
  const name = random.chance(0.7) ? "whisper-1" : oddText(random);
  const parts = [
    part('name="model"', name),
    part('name="file"; filename="a.mp3"', `ID3${runUnit(random).repeat(random.int(0, 60))}`),
    part(`name="${random.chance(0.5) ? "language" : oddText(random)}"`, oddText(random)),
  ];
  if (random.chance(0.2)) parts.push(part("name=model", oddText(random)));
  if (random.chance(0.5)) parts.reverse();
  const form = Buffer.from(`${parts.join("")}--B--\r\n`);
  return random.chance(0.6) ? mutateBytes(form, random) : form;
}

async function tryForm(random: Random): Promise<void> {
  const form = formOf(random);
  const type = random.chance(0.9)
    ? "multipart/form-data; boundary=B"
    : `multipart/form-data; ${oddText(random)}`;
  const source = contextOf(cutBytes(form, random), ["content-type", type]);
  const read = await readMultipartCall("transcriptions", source);
  if (!read.ok) return mustBeDeclared(read);
  const { call } = read;
  const model = random.chance(0.5) ? call.model : executed;
  try {
    const sent = await bytesOf(call.requestTo(providers[0]!, model).body!);
    if (model === call.model) must(sent.equals(form), "a form passes as it is");
    else must(sent.includes(executed), "the model's name is in its place");
  } catch (error) {
    if (!(error instanceof UploadRefused)) throw error;
  }
  call.close();
}

async function* piecesOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}

/** What passes through `/p` is searched for its model, and passes as it is. */
async function tryPeeked(random: Random): Promise<void> {
  const isForm = random.chance(0.3);
  let bytes = isForm
    ? formOf(random)
    : Buffer.from(mutator.text(random.pick(requestSamples).body, random));
  if (random.chance(0.3)) bytes = mutateBytes(bytes, random);
  const body = new PeekedBody(piecesOf(cutBytes(bytes, random)), {
    bytesAnnounced: random.chance(0.5) ? bytes.length : null,
    memory: { hold: () => true, release: () => {} },
    noMemory: () => new NoMemory(),
    refused: (problem) => new UploadRefused(problem),
  });
  const named = await body.model({
    contentType: isForm ? "multipart/form-data; boundary=B" : "application/json",
    contentEncoding: "",
    requiredWithin: random.chance(0.5) ? bytes.length : null,
  });
  if (!named.ok) return;
  try {
    const passed = await bytesOf({ pieces: body.pieces(), bytes: null });
    must(passed.equals(bytes), "it passes as it is");
  } catch (error) {
    if (!(error instanceof UploadRefused)) throw error;
  }
}

export const clientBodies: FuzzTarget = {
  name: "client-bodies",
  share: 1,
  open: () =>
    Promise.resolve({
      async run(random) {
        const kind = random.next();
        if (kind < 0.001) await tryDense(random);
        else if (kind < 0.8) await tryJson(random);
        else if (kind < 0.9) await tryForm(random);
        else await tryPeeked(random);
        return 1;
      },
      close: () => Promise.resolve(),
    }),
};
