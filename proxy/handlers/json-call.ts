/**
 * A call whose body is a JSON object: chat completions, messages, responses, completions,
 * embeddings, moderations, reranking, speech, images. A provider of the same dialect gets the
 * client's bytes; only the model's name may differ.
 */
import { assert } from "../../shared/assert.js";
import { translatedBodyFactor } from "../../shared/bounds.js";
import type { ProviderConfig, RewriterName } from "../../shared/config/config.js";
import type { DefaultModel } from "../../shared/config/kinds/list-kinds.js";
import type { Failure } from "../../shared/error-code.js";
import { isGoogleOperation } from "../../shared/operation.js";
import { denialOfDense } from "../auth/caller.js";
import { withoutMark } from "../body/byte-order-mark.js";
import { ClientBody } from "../body/client-body.js";
import { editModelBody, mustAskUsage } from "../body/edit-model-body.js";
import { parseObjectExactly, writeExactly } from "../body/exact-json.js";
import {
  bodyText,
  isDense,
  type JsonOperation,
  largeBodyText,
  type ModelBody,
  type OtherModel,
  parseModelBody,
  slicedBytesMin,
} from "../body/model-body.js";
import { promptBytes } from "../body/prompt-bytes.js";
import { noLongTexts } from "../body/repeated-turns.js";
import { type RewrittenBody, rewriteRequest } from "../body/rewriters/rewrite-request.js";
import { type JsonMember, valuesOf } from "../body/scan-json.js";
import { CallDialects } from "../dialects/choose-dialect.js";
import { fitSteps, fittedBody } from "../dialects/fit/fit-native.js";
import type { FitTarget } from "../dialects/fit/fit-tuning.js";
import {
  nothingRefused,
  ownReasoningStep,
  type RefusedParts,
  withoutFieldsStep,
} from "../dialects/fit/own-reasoning.js";
import { mixesDialects } from "../dialects/fit/plain-chat.js";
import { bodyOfPath } from "../dialects/mistaken-body.js";
import { overrideRequest } from "../dialects/override-request.js";
import { isMarked } from "../dialects/shared/made-by.js";
import { signatureOfOthers } from "../dialects/shared/thought-signature.js";
import {
  fieldsOf,
  type JsonObject,
  type TranslatedRequest,
} from "../dialects/shared/translation.js";
import { createAnswerTranslator } from "../dialects/translate-answer.js";
import { type TranslatedTarget, translateRequest } from "../dialects/translate-request.js";
import { withOutputMaximum } from "../hard-caps/output-maximum.js";
import { noMemory, unreadBody } from "../http/body-spool.js";
import type { Exchange } from "../http/exchange.js";
import { namingIn } from "../objects/object-body.js";
import type { RequestContext } from "../request-context.js";
import { isOfBetas } from "../upstream/errors/refused-betas.js";
import type { RefusedPart } from "../upstream/errors/refused-part.js";
import { SentBody } from "../upstream/sent-body.js";
import { boundFields } from "../usage/usage-bound.js";
import {
  type CallParts,
  defaultModel,
  type ModelCall,
  nextSliceOf,
  notOfferedFailure,
  type ReadCall,
  type RequestOptions,
  type TargetRequest,
} from "./model-call.js";
import { googleBody, streamForm } from "./model-in-path.js";

/** `rewritten`: the body in the path's form, if the client has sent that of another API. */
export async function readJsonCall(
  operation: JsonOperation,
  context: RequestContext<CallParts>,
  rewritten: BodyOfPath | null = null,
): Promise<ReadCall> {
  const { gateway, exchange, caller, record } = context;
  const { bodyBytesMax, defaultModels } = gateway.config.server;
  const fromMonoMs = gateway.monoMs();
  const body = rewritten ?? (await exchange.readBody(bodyBytesMax));
  record.addWait(gateway.monoMs() - fromMonoMs);
  if (!body.ok) return { ok: false, failure: unreadBody(body, bodyBytesMax) };
  const bytes = withoutMark(body.bytes);
  const text =
    bytes.length < slicedBytesMin
      ? bodyText(operation, bytes)
      : await largeBodyText(operation, bytes, nextSliceOf(caller, gateway));
  // A body with very many values is parsed only if the caller is known.
  const denial = denialOfDense(gateway.limiter, caller, () => isDense(text));
  const denied = denial === null ? null : await denial;
  if (denied !== null) return { ok: false, failure: denied };
  const parsed = parseModelBody(
    operation,
    text,
    gateway.isUtf8,
    otherModel(operation, exchange, defaultModels),
  );
  if (!parsed.ok) return parsed;
  if (parsed.body.isMistaken) {
    const own = rewriteMistaken(operation, bytes, exchange);
    return own.ok ? readJsonCall(operation, context, own) : own;
  }
  const { outline } = text;
  const naming = caller.isOperator
    ? null
    : outline === null
      ? namingIn(bytes, parsed.fields, operation)
      : namingIn(outline.skeleton, parsed.fields, operation, outline);
  const parts = {
    clientBody: new ClientBody(operation, bytes, outline),
    modelBody: parsed.body,
    members: parsed.members,
    naming,
    turn: gateway.loops.read(operation, parsed.fields, outline ?? noLongTexts),
    dropped: rewritten?.dropped ?? [],
    isMixed: operation === "chat_completions" && mixesDialects(parsed.fields),
  };
  return { ok: true, call: new JsonCall(operation, parts, context) };
}

interface BodyOfPath {
  readonly ok: true;
  readonly bytes: Buffer;
  /** Fields that the path's API doesn't have. */
  readonly dropped: readonly string[];
}

/** See `mistaken-body.ts`. The memory of the body becomes that of the new one. */
function rewriteMistaken(
  operation: JsonOperation,
  bytes: Buffer,
  { memory }: Pick<Exchange, "memory">,
): BodyOfPath | { readonly ok: false; readonly failure: Failure } {
  assert(operation === "chat_completions" || operation === "responses", "these may be mistaken");
  const copies = bytes.length * translatedBodyFactor;
  if (!memory.take(copies)) return { ok: false, failure: noMemory() };
  const own = bodyOfPath(operation, parseObjectExactly(bytes));
  const written = own.ok ? Buffer.from(writeExactly(own.body)) : bytes;
  const spare = copies + bytes.length - written.length;
  if (spare >= 0) memory.give(spare);
  else if (!memory.take(-spare)) return { ok: false, failure: noMemory() };
  return own.ok ? { ok: true, bytes: written, dropped: own.dropped } : own;
}

/** The model in the path, which overrides the body's, or the default of the operation. */
function otherModel(
  operation: JsonOperation,
  { modelInPath }: Pick<Exchange, "modelInPath">,
  defaults: readonly DefaultModel[],
): OtherModel | null {
  if (modelInPath !== null) return { name: modelInPath, overridesBody: true };
  const name = defaultModel(operation, defaults);
  return name === null ? null : { name, overridesBody: false };
}

const noRewriters: readonly RewriterName[] = [];
const noOptions: RequestOptions = {};

/** Fields that Sluice may add to requests. */
const addedFields: ReadonlySet<string> = new Set(["stream_options", "include", "store"]);

/** A request before the operator's overrides. */
type FittedRequest = TargetRequest & { readonly body: Buffer };

interface ReadBody extends Pick<ModelCall, "naming" | "turn"> {
  readonly clientBody: ClientBody;
  readonly modelBody: ModelBody;
  readonly members: readonly JsonMember[];
  /** Fields that were dropped when the body was read. */
  readonly dropped: readonly string[];
  /** Whether it is a chat request with pieces of other dialects. */
  readonly isMixed: boolean;
}

class JsonCall implements ModelCall {
  readonly operation: JsonOperation;
  readonly model: string;
  readonly isDefaultModel: boolean;
  readonly stream: boolean;
  readonly mayRunOthers: boolean;
  readonly carriedTools: readonly string[] | null;
  readonly isAgent: boolean;
  readonly isRepeatable = true;
  readonly naming: ModelCall["naming"];
  readonly turn: ModelCall["turn"];
  readonly #clientBody: ClientBody;
  /** The few fields of the body that Sluice reads. */
  readonly #modelBody: ModelBody;
  /** Empty once the body is released. */
  #members: readonly JsonMember[];
  readonly #exchange: Exchange;
  readonly #nowMs: () => number;
  readonly #dropped: readonly string[];
  readonly #isMixed: boolean;
  readonly #dialects: CallDialects;
  /** By target; null without translations. */
  #translations: Map<string, TranslatedRequest> | null = null;
  /** The memory that the translations have taken. */
  #translationBytes = 0;
  /** Fields of the request that the answer repeats, kept until it ends. */
  #echoed: JsonObject | null = null;
  readonly #sent: SentBody[] = [];
  /** Set once the body is released. */
  #promptBytes: number | null = null;

  constructor(
    operation: JsonOperation,
    { clientBody, modelBody, members, naming, turn, dropped, isMixed }: ReadBody,
    { gateway, exchange }: RequestContext<CallParts>,
  ) {
    this.operation = operation;
    this.naming = naming;
    this.turn = turn;
    this.model = modelBody.model;
    this.isDefaultModel = modelBody.writtenModel === null && exchange.modelInPath === null;
    this.stream = modelBody.stream || operation === "stream_generate_content";
    this.mayRunOthers = modelBody.mayRunOthers;
    this.carriedTools = modelBody.carriedTools;
    this.isAgent = modelBody.modelField === "agent";
    this.#clientBody = clientBody;
    this.#modelBody = modelBody;
    this.#members = members;
    this.#dropped = dropped;
    this.#isMixed = isMixed;
    this.#dialects = new CallDialects(operation, modelBody);
    this.#exchange = exchange;
    this.#nowMs = gateway.nowMs;
  }

  valuesOf(name: string): readonly string[] {
    return valuesOf(this.body, this.#members, name);
  }

  get body(): Buffer {
    return this.#clientBody.bytes;
  }

  get promptBytes(): number {
    return this.#promptBytes ?? promptBytes(this.body);
  }

  problemAt(provider: ProviderConfig, model: string): Failure | null {
    const dialect = this.#dialects.dialectAt(provider, model);
    if (dialect === null) return notOfferedFailure(provider, this.operation);
    const { operation, translation } = dialect;
    if (translation === null) return null;
    if (!this.#mayTranslate()) return noMemory();
    const translated = this.#inDialect({ provider, model, operation, translation });
    return translated.ok ? null : translated.failure;
  }

  #mayTranslate(): boolean {
    if (this.#translationBytes > 0) return true;
    const bytes = this.body.length * translatedBodyFactor;
    if (!this.#exchange.memory.take(bytes)) return false;
    this.#translationBytes = bytes;
    return true;
  }

  requestTo(
    provider: ProviderConfig,
    model: string,
    {
      rewriters = noRewriters,
      isNamed = true,
      refused = nothingRefused,
      granted = null,
    }: RequestOptions = noOptions,
  ): TargetRequest {
    const target = { provider, model, isNamed, isMixed: this.#isMixed };
    const rewritten =
      rewriters.length === 0
        ? { bytes: this.body, savedBytes: 0 }
        : rewriteRequest(this.body, this.operation, rewriters);
    const fitted = this.#fitted(target, rewritten);
    const overridden =
      provider.perModel.length === 0 ? fitted : overrideRequest(fitted, provider, model);
    const request = this.#withoutRefused(overridden, target, refused);
    // Anthropic refuses lone surrogates.
    const repaired =
      provider.type === "anthropic"
        ? this.#clientBody.withoutLoneSurrogates(request.body)
        : request.body;
    const chatField = provider.chat.maxTokensField;
    const capped =
      granted === null
        ? repaired
        : withOutputMaximum(request.operation, repaired, { ...granted, chatField });
    const isRepaired = repaired !== request.body;
    const body = new SentBody(capped);
    this.#sent.push(body);
    const dropped =
      isRepaired || this.#dropped.length > 0
        ? [...this.#dropped, ...request.dropped, ...(isRepaired ? ["halves of characters"] : [])]
        : request.dropped;
    return { ...request, body, dropped };
  }

  mayLose({ translation, nativeRequests }: ProviderConfig, part: RefusedPart): boolean {
    if (part.kind === "field" && this.#isOurs(part.path)) return true;
    return translation !== "strict" && nativeRequests === "fitted";
  }

  /** Whether Sluice adds a field that the client hasn't sent. */
  #isOurs(field: string): boolean {
    return addedFields.has(field) && !this.#members.some(({ key }) => key === field);
  }

  /**
   * The body without reasoning that the target can't read, and without fields that it has refused.
   */
  #withoutRefused(
    request: FittedRequest,
    target: Pick<TranslatedTarget, "provider" | "model">,
    { reasoning, fields: paths }: RefusedParts,
  ): FittedRequest {
    const fields = paths.filter((path) => !isOfBetas(path));
    const { operation, body: bytes, dropped } = request;
    const skeleton = this.#clientBody.skeletonOf(bytes);
    if (!reasoning && fields.length === 0 && !isMarked(skeleton)) return request;
    const mayLose = (path: string): boolean =>
      this.mayLose(target.provider, { kind: "field", path, isLasting: true });
    const steps = [
      ownReasoningStep(operation, target, { bytes, isRefused: reasoning }),
      withoutFieldsStep(fields.filter(mayLose), (path) => this.#isOurs(path)),
    ].filter((step) => step !== null);
    const fitted = steps.length > 0 && this.#mayTranslate() ? fittedBody(bytes, steps) : null;
    if (fitted === null) return request;
    return Object.assign(request, {
      body: fitted.bytes,
      dropped: [...new Set([...dropped, ...fitted.dropped])],
    });
  }

  /** The request in the provider's dialect, without the parts that its host or model refuses. */
  #fitted(target: FitTarget, rewritten: RewrittenBody): FittedRequest {
    const { provider, model } = target;
    const { operation, translation } = this.#dialects.dialectAt(provider, model)!;
    if (translation !== null)
      return this.#translated({ provider, model, operation, translation }, rewritten);
    const skeleton = this.#clientBody.skeletonOf(rewritten.bytes);
    const steps = fitSteps(operation, target, skeleton);
    const fitted =
      steps.length > 0 && this.#mayTranslate() ? fittedBody(rewritten.bytes, steps) : null;
    if (fitted === null) return this.#untranslated(provider, model, rewritten);
    const { bytes, dropped } = fitted;
    return { ...this.#untranslated(provider, model, { ...rewritten, bytes }), dropped };
  }

  #untranslated(
    provider: ProviderConfig,
    model: string,
    { bytes, savedBytes }: RewrittenBody,
  ): FittedRequest {
    const clientBody = this.#clientBody;
    if (isGoogleOperation(this.operation)) {
      const signed = signedForGoogle(bytes, clientBody.skeletonOf(bytes));
      const body = googleBody(signed, model, this.#members);
      return this.#nativeRequest(clientBody.edited(signed, body), savedBytes);
    }
    const askUsage = mustAskUsage(this.operation, this.#modelBody, provider);
    // Vertex AI's compatible API has the publisher in the names of models; its own API doesn't.
    const name = this.operation === "interactions" ? model.replace(/^google\//, "") : model;
    const { writtenModel, modelField } = this.#modelBody;
    const edits = {
      model: name === writtenModel ? undefined : name,
      modelField,
      includeUsage: askUsage ? (true as const) : undefined,
    };
    const body = editModelBody(bytes, edits, bytes === clientBody.bytes ? this.#members : null);
    return this.#nativeRequest(clientBody.edited(bytes, body), savedBytes, askUsage);
  }

  #nativeRequest(body: Buffer, savedBytes: number, hideUsageChunk = false): FittedRequest {
    const { operation } = this;
    return { operation, body, savedBytes, hideUsageChunk, translator: null, dropped: [] };
  }

  #translated(target: TranslatedTarget, { bytes, savedBytes }: RewrittenBody): FittedRequest {
    const { operation, translation } = target;
    const clientBody = this.#clientBody;
    const rewritten = savedBytes === 0 ? null : translateRequest(parseObjectExactly(bytes), target);
    // A rewritten prompt may be untranslatable, for example without its last, repeated system
    // message. Then the client's own prompt is sent.
    const isRewritten = rewritten?.ok === true;
    const translated = isRewritten ? rewritten : this.#inDialect(target);
    assert(translated.ok, "a request with a problem isn't sent");
    const fields = clientBody.fields();
    const exchange = this.#exchange;
    const context = {
      model: this.model,
      nowSeconds: Math.floor(this.#nowMs() / 1000),
      requestId: exchange.ownId,
      provider: target.provider.name,
      streamForm: streamForm(this.operation, exchange.query),
      request: fieldsOf(translation.echoSource?.(fields) ?? fields, [
        "stream",
        ...translation.echoedFields,
      ]),
    };
    this.#echoed = context.request;
    const hideUsageChunk =
      this.operation === "chat_completions" && this.stream && !this.#modelBody.includeUsage;
    return {
      operation,
      body: isRewritten
        ? Buffer.from(writeExactly(translated.body))
        : clientBody.write(translated.body),
      savedBytes: isRewritten ? savedBytes : 0,
      hideUsageChunk,
      translator: createAnswerTranslator(translation, context, { memory: exchange.memory }),
      dropped: translated.dropped,
    };
  }

  #inDialect(target: TranslatedTarget): TranslatedRequest {
    this.#translations ??= new Map();
    const name = `${target.provider.name}/${target.model}`;
    let translated = this.#translations.get(name);
    if (translated === undefined) {
      const clientBody = this.#clientBody;
      translated = translateRequest(clientBody.fields(), target);
      // An error may quote a text, which must be that of the client.
      if (!translated.ok && clientBody.hasPlaceholders)
        translated = translateRequest(clientBody.wholeFields(), target);
      this.#translations.set(name, translated);
    }
    return translated;
  }

  releaseAttempts(): void {
    // The cost of speech is counted from its text.
    if (this.operation === "speech") return;
    const { memory } = this.#exchange;
    const clientBody = this.#clientBody;
    const { bytes } = clientBody;
    for (const body of this.#sent) {
      const sent = body.wholeBody();
      body.release(
        clientBody.isNative(sent) ? boundFields(bytes, this.#members) : boundFields(sent),
      );
    }
    const echoedBytes = this.#echoed === null ? 0 : writeExactly(this.#echoed).length;
    memory.give(bytes.length + Math.max(0, this.#translationBytes - echoedBytes));
    this.#promptBytes = promptBytes(bytes);
    this.#members = [];
    this.#translations = null;
    clientBody.release();
  }

  close(): void {}
}

/** The start of every signature that Sluice writes: "sluice_" in base64. */
const signatureMark = "c2x1aWNlX3";
const ownSignature = new RegExp(`("thought(?:S|_s)ignature"\\s*:\\s*")${signatureMark}[^"]*"`, "g");

/**
 * Replaces signatures that Sluice made for the thinking of other models with the value that Google
 * documents for them (ai.google.dev, "Thought signatures"). Returns the same Buffer if it has none.
 * Quotes within texts are escaped, so every match is a field. `skeleton`: as in `ClientBody`.
 */
export function signedForGoogle(body: Buffer, skeleton = body): Buffer {
  if (!skeleton.includes(signatureMark)) return body;
  const text = body.toString("latin1").replace(ownSignature, `$1${signatureOfOthers}"`);
  return Buffer.from(text, "latin1");
}
