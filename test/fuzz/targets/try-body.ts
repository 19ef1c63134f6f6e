/**
 * A body through all that the proxy does with it in its own process: checks, the translation into a
 * provider's dialect, rewriters, edits. It gives a request, or a failure with a status of its own.
 */
import { isUtf8 } from "node:buffer";
import { parseObjectExactly, writeExactly } from "../../../proxy/body/exact-json.js";
import { withoutLoneSurrogates } from "../../../proxy/body/lone-surrogates.js";
import { bodyText, parseModelBody } from "../../../proxy/body/model-body.js";
import { CallDialects } from "../../../proxy/dialects/choose-dialect.js";
import { isMarked } from "../../../proxy/dialects/shared/made-by.js";
import { translateRequest } from "../../../proxy/dialects/translate-request.js";
import { isCacheableRequest } from "../../../proxy/handlers/cache/cacheable.js";
import { readJsonCall } from "../../../proxy/handlers/json-call.js";
import type { CallParts, ReadCall } from "../../../proxy/handlers/model-call.js";
import type { RequestContext } from "../../../proxy/request-context.js";
import { upstreamPath } from "../../../proxy/upstream/upstream-path.js";
import { isCount } from "../../../shared/checked.js";
import type { ProviderConfig, RewriterName } from "../../../shared/config/config.js";
import { findPreset } from "../../../shared/config/presets.js";
import { isGoogleOperation } from "../../../shared/operation.js";
import { FakeExchange } from "../../proxy/fake-exchange.js";
import { bytesOf, callContext } from "../../proxy/fake-gateway.js";
import type { Random } from "../../sim/random.js";
import { inAscii } from "../../support/in-ascii.js";
import { providerConfig } from "../../support/provider-config.js";
import { must } from "../fuzz-target.js";
import type { RequestSample } from "../samples/request-samples.js";

const bodyBytesMax = 8 * 1024 * 1024;
/** A message names a field by its path, which may be long, but holds no value in full. */
const messageCharsMax = 2000;
export const executed = "gpt-4o";
const models = [
  executed,
  "gpt-5.2",
  "o3",
  "claude-opus-4-7",
  "claude-sonnet-4-5",
  "claude-3-5-haiku-latest",
  "magistral-small",
];

export const providers = [
  providerConfig({ name: "openai" }),
  providerConfig({ name: "claude", type: "anthropic" }),
  providerConfig({
    name: "chatty",
    operations: new Set(["chat_completions"]),
    chat: findPreset("mistral")!.chat,
  }),
  providerConfig({
    name: "deep",
    operations: new Set(["chat_completions"]),
    chat: findPreset("deepseek")!.chat,
  }),
  providerConfig({ name: "strict", type: "anthropic", translation: "strict" }),
  providerConfig({ name: "gemini", type: "gemini" }),
  providerConfig({ name: "azure", type: "azure", apiVersion: "2024-10-21" }),
];

const rewriters: readonly (readonly RewriterName[])[] = [
  [],
  ["collapse_white_space"],
  ["minify_tool_json"],
  ["drop_duplicate_system"],
  ["minify_tool_json", "collapse_white_space", "drop_duplicate_system"],
];

export function contextOf(
  pieces: readonly Buffer[],
  headers: readonly string[] = [],
): RequestContext<CallParts> {
  const exchange = new FakeExchange({ headers });
  exchange.sentPieces = [...pieces];
  return callContext(exchange, {
    bodyBytesMax,
    uploadBytesMax: bodyBytesMax,
    isUtf8: (bytes) => Buffer.from(bytes.toString("utf8")).equals(bytes),
    nowMs: () => 1_795_000_000_000,
  });
}

export function mustBeDeclared({ failure }: ReadCall & { readonly ok: false }): void {
  must(failure !== null, "the client isn't gone");
  must(failure.status >= 400 && failure.status < 500, () => `refused with ${failure.status}`);
  must(
    failure.message !== "" && failure.message.length < messageCharsMax,
    () => `a message of ${failure.message.length} characters: ${failure.message.slice(0, 200)}`,
  );
}

/** A body through all that is done with it for one provider. */
export async function tryBody(
  { operation }: RequestSample,
  bytes: Buffer,
  random: Random,
): Promise<void> {
  const read = await readJsonCall(operation, contextOf([bytes]));
  if (!read.ok) return mustBeDeclared(read);
  const { call } = read;
  must(isCount(call.promptBytes), "bytes of the prompt");
  if (random.chance(0.1))
    isCacheableRequest({ operation, body: bytes, valuesOf: (name) => call.valuesOf(name) });
  const provider = random.pick(providers);
  const model = random.chance(0.3) ? call.model : random.pick(models);
  const problem = call.problemAt(provider, model);
  if (problem !== null) return mustBeDeclared({ ok: false, failure: problem });
  const sent = call.requestTo(provider, model, { rewriters: random.pick(rewriters) });
  upstreamPath(provider, sent.operation, model, "a=1&b=%zz");
  must(isCount(sent.savedBytes), "saved bytes");
  const body = await bytesOf(sent.body!);
  must(isUtf8(body), "the body is UTF-8");
  if (sent.savedBytes === 0) {
    mustBeTranslatedWhole(operation, bytes, { provider, model, body });
    await escapesMustNotMatter(operation, bytes, { provider, model, body });
  }
  const fields = JSON.parse(body.toString()) as Named & { readonly generateContentRequest?: Named };
  const meant = isGoogleOperation(sent.operation) ? `models/${model}` : model;
  // Gemini counts a request within the body, which names the model too.
  const named = [fields.model, fields.generateContentRequest?.model].filter(
    (name) => name !== undefined,
  );
  must(
    (named.length > 0 && named.every((name) => name === meant)) || !isWellFormed(model),
    () => `the model ${JSON.stringify(model)} is sent as ${JSON.stringify(named)}`,
  );
}

/** A client may escape all characters beyond ASCII. */
async function escapesMustNotMatter(
  operation: RequestSample["operation"],
  bytes: Buffer,
  sent: { readonly provider: ProviderConfig; readonly model: string; readonly body: Buffer },
): Promise<void> {
  const escaped = Buffer.from(inAscii(bytes.toString()));
  if (escaped.length === bytes.length) return;
  const read = await readJsonCall(operation, contextOf([escaped]));
  if (!read.ok || read.call.problemAt(sent.provider, sent.model) !== null) return;
  const { body } = read.call.requestTo(sent.provider, sent.model);
  const meaning = (json: Buffer): string => JSON.stringify(JSON.parse(json.toString()));
  must(meaning(await bytesOf(body!)) === meaning(sent.body), "escapes make no difference");
}

/** Long texts that are carried make no difference. Returns whether the body was translated. */
export function mustBeTranslatedWhole(
  operation: RequestSample["operation"],
  bytes: Buffer,
  sent: { readonly provider: ProviderConfig; readonly model: string; readonly body: Buffer },
): boolean {
  const { provider, model } = sent;
  const read = parseModelBody(operation, bodyText(operation, bytes));
  const dialect = read.ok
    ? new CallDialects(operation, read.body).dialectAt(provider, model)
    : null;
  if (dialect === null || dialect.translation === null || isMarked(bytes)) return false;
  const { operation: asked, translation } = dialect;
  const target = { provider, model, operation: asked, translation };
  const whole = translateRequest(parseObjectExactly(bytes), target);
  must(whole.ok, "it is translated whole, too");
  const expected = Buffer.from(writeExactly(whole.body));
  const compared = (json: Buffer): string =>
    JSON.stringify(JSON.parse(withoutLoneSurrogates(json).toString()));
  must(compared(sent.body) === compared(expected), "long texts make no difference");
  return true;
}

interface Named {
  readonly model?: unknown;
}

const isWellFormed = (text: string): boolean => !/[\ud800-\udfff]/u.test(text);
