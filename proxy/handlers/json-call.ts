/**
 * A call whose body is a JSON object: chat completions, messages, responses, completions,
 * embeddings, moderations, reranking, speech, images. A provider of the same dialect gets the
 * client's bytes; only the model's name may differ.
 */
import { assert } from "../../shared/assert.js";
import { largeBodyBytes, translatedBodyFactor } from "../../shared/bounds.js";
import type { ProviderConfig, RewriterName } from "../../shared/config/config.js";
import type { DefaultModel } from "../../shared/config/kinds/list-kinds.js";
import type { Failure } from "../../shared/error-code.js";
import { isGoogleOperation } from "../../shared/operation.js";
import { denialOfDense } from "../auth/caller.js";
import { type CarriedBody, type CarryingBody, carriedBody } from "../body/carried-texts.js";
import type { BodyOutline } from "../body/count-values.js";
import { editModelBody, mustAskUsage } from "../body/edit-model-body.js";
import { parseObjectExactly, writeExactly } from "../body/exact-json.js";
import { withoutLoneSurrogates } from "../body/lone-surrogates.js";
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
import { type Rewritten, rewriteRequest } from "../body/rewriters/rewrite-request.js";
import { valuesOf } from "../body/scan-json.js";
import { CallDialects } from "../dialects/choose-dialect.js";
import { fitSteps, fittedBody } from "../dialects/fit/fit-native.js";
import {
  nothingRefused,
  ownReasoningStep,
  type Refused,
  withoutFieldsStep,
} from "../dialects/fit/own-reasoning.js";
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
import type { RefusedPart } from "../upstream/errors/refused-part.js";
import { LargeBody } from "../upstream/large-body.js";
import { boundFields } from "../usage/usage-bound.js";
import {
  type CallParts,
  defaultModel,
  type ModelCall,
  nextSliceOf,
  notOffered,
  type ReadCall,
  type SentFor,
  type TargetRequest,
} from "./model-call.js";
import { googleBody, streamForm } from "./model-in-path.js";

export async function readJsonCall(
  operation: JsonOperation,
  context: RequestContext<CallParts>,
): Promise<ReadCall> {
  const { gateway, exchange, caller, record } = context;
  const { bodyBytesMax, defaultModels } = gateway.config.server;
  const fromMonoMs = gateway.monoMs();
  const body = await exchange.readBody(bodyBytesMax);
  record.waited(gateway.monoMs() - fromMonoMs);
  if (!body.ok) return { ok: false, failure: unreadBody(body, bodyBytesMax) };
  const text =
    body.bytes.length < slicedBytesMin
      ? bodyText(operation, body.bytes)
      : await largeBodyText(operation, body.bytes, nextSliceOf(caller, gateway));
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
  const { outline } = text;
  const naming = caller.isOperator
    ? null
    : outline === null
      ? namingIn(body.bytes, parsed.fields, operation)
      : namingIn(outline.shape, parsed.fields, operation, outline);
  const given = {
    bytes: body.bytes,
    outline,
    body: parsed.body,
    naming,
    turn: gateway.loops.read(operation, parsed.fields, outline ?? noLongTexts),
  };
  return { ok: true, call: new JsonCall(operation, given, context) };
}

/** The model that the path names, which wins over the body's, or the default of the operation. */
function otherModel(
  operation: JsonOperation,
  { modelInPath }: Pick<Exchange, "modelInPath">,
  defaults: readonly DefaultModel[],
): OtherModel | null {
  if (modelInPath !== null) return { name: modelInPath, overridesBody: true };
  const name = defaultModel(operation, defaults);
  return name === null ? null : { name, overridesBody: false };
}

/** The operations whose translations carry long texts. */
const carrying: ReadonlySet<JsonOperation> = new Set(["chat_completions", "messages"]);

const asNamed: SentFor = { isNamed: true, refused: nothingRefused };

/** Fields that Sluice adds to requests of its own accord. */
const addedFields: ReadonlySet<string> = new Set(["stream_options", "include", "store"]);

/** A request before the operator's overrides. */
type FittedRequest = TargetRequest & { readonly body: Buffer };

interface GivenBody extends Pick<ModelCall, "naming" | "turn"> {
  readonly bytes: Buffer;
  /** Null for a short body. */
  readonly outline: BodyOutline | null;
  readonly body: ModelBody;
}

class JsonCall implements ModelCall {
  readonly operation: JsonOperation;
  readonly model: string;
  readonly isDefaultModel: boolean;
  readonly stream: boolean;
  readonly mayRunOthers: boolean;
  readonly carriedTools: readonly string[] | null;
  readonly isAgent: boolean;
  readonly repeatable = true;
  readonly naming: ModelCall["naming"];
  readonly turn: ModelCall["turn"];
  /** Empty once released. */
  #bytes: Buffer;
  /**
   * Where names of fields, short texts and the beginnings of all others can be found. The same as
   * `#bytes` for a short body.
   */
  #shape: Buffer;
  readonly #escapesHalves: boolean;
  /** Null for a short body, and once released. */
  #outline: BodyOutline | null;
  /** The body sent, if it differs from the client's only in the model and `stream_options`. */
  #nearlyGiven: Buffer | null = null;
  /** The body sent, if it is a translation in which long texts are carried. */
  #carrying: CarryingBody | null = null;
  readonly #body: ModelBody;
  readonly #exchange: Exchange;
  readonly #nowMs: () => number;
  readonly #dialects: CallDialects;
  /** The client's body, parsed for the first translation, and the translations by target. */
  #parsed: JsonObject | null = null;
  /** `#parsed`, if its long texts are carried. */
  #carried: CarriedBody | null = null;
  #translations: Map<string, TranslatedRequest> | null = null;
  /** The memory that the translations took from the ledger. */
  #translationBytes = 0;
  /** Request fields that the answer echoes, kept until it ends. */
  #echoed: JsonObject | null = null;
  /** The large bodies that were sent; usually null. */
  #sent: LargeBody[] | null = null;
  /** Kept after the body is released. */
  #promptBytes: number | null = null;

  constructor(
    operation: JsonOperation,
    { bytes, outline, body, naming, turn }: GivenBody,
    { gateway, exchange }: RequestContext<CallParts>,
  ) {
    this.operation = operation;
    this.naming = naming;
    this.turn = turn;
    this.model = body.model;
    this.isDefaultModel = body.writtenModel === null && exchange.modelInPath === null;
    this.stream = body.stream;
    this.mayRunOthers = body.mayRunOthers;
    this.carriedTools = body.carriedTools;
    this.isAgent = body.modelField === "agent";
    this.#bytes = bytes;
    this.#shape = outline?.shape ?? bytes;
    this.#escapesHalves = outline?.escapesHalves ?? true;
    this.#outline = outline;
    this.#body = body;
    this.#dialects = new CallDialects(operation, body);
    this.#exchange = exchange;
    this.#nowMs = gateway.nowMs;
  }

  valuesOf(name: string): readonly string[] {
    return valuesOf(this.#bytes, this.#body.members, name);
  }

  get body(): Buffer {
    return this.#bytes;
  }

  get promptBytes(): number {
    return this.#promptBytes ?? promptBytes(this.#bytes);
  }

  problemAt(provider: ProviderConfig, model: string): Failure | null {
    const dialect = this.#dialects.at(provider, model);
    if (dialect === null) return notOffered(provider, this.operation);
    const { operation, translation } = dialect;
    if (translation === null) return null;
    if (!this.#mayTranslate()) return noMemory();
    const translated = this.#inDialect({ provider, model, operation, translation });
    return translated.ok ? null : translated.failure;
  }

  #mayTranslate(): boolean {
    if (this.#translationBytes > 0) return true;
    const bytes = this.#bytes.length * translatedBodyFactor;
    if (!this.#exchange.memory.take(bytes)) return false;
    this.#translationBytes = bytes;
    return true;
  }

  requestTo(
    provider: ProviderConfig,
    model: string,
    rewriters: readonly RewriterName[],
    { isNamed, refused, granted = null }: SentFor = asNamed,
  ): TargetRequest {
    const rewritten =
      rewriters.length === 0
        ? { bytes: this.#bytes, savedBytes: 0 }
        : rewriteRequest(this.#bytes, this.operation, rewriters);
    const fitted = this.#fitted(provider, model, isNamed, rewritten);
    const overridden =
      provider.perModel.length === 0 ? fitted : overrideRequest(fitted, provider, model);
    const request = this.#accepted(overridden, { provider, model }, refused);
    const whole = provider.type === "anthropic" ? this.#withoutHalves(request.body) : request.body;
    const chatField = provider.chat.maxTokensField;
    const capped =
      granted === null
        ? whole
        : withOutputMaximum(request.operation, whole, { ...granted, chatField });
    const body = capped.length < largeBodyBytes ? capped : this.#largeBody(capped);
    if (body === request.body) return request;
    const dropped =
      whole === request.body ? request.dropped : [...request.dropped, "halves of characters"];
    return { ...request, body, dropped };
  }

  /** Without halves of characters, which Anthropic refuses. */
  #withoutHalves(body: Buffer): Buffer {
    const shape = this.#shapeOf(body);
    const isWhole =
      shape !== body && !this.#escapesHalves && withoutLoneSurrogates(shape) === shape;
    return isWhole ? body : withoutLoneSurrogates(body);
  }

  /** A body that is sent, without the client's long texts; `sent` itself if they aren't known. */
  #shapeOf(sent: Buffer): Buffer {
    if (sent === this.#nearlyGiven) return this.#shape;
    return sent === this.#carrying?.bytes ? this.#carrying.shape : sent;
  }

  #largeBody(whole: Buffer): LargeBody {
    const body = new LargeBody(whole);
    this.#sent ??= [];
    this.#sent.push(body);
    return body;
  }

  mayLose({ translation, nativeRequests }: ProviderConfig, part: RefusedPart): boolean {
    if (part.kind === "field" && this.#isOurs(part.path)) return true;
    return translation !== "strict" && nativeRequests === "fitted";
  }

  /** Whether Sluice adds a field that the client hasn't sent. */
  #isOurs(field: string): boolean {
    return addedFields.has(field) && !this.#body.members.some(({ key }) => key === field);
  }

  /** The request without what its target can't read, or has refused. */
  #accepted(
    request: FittedRequest,
    target: Pick<TranslatedTarget, "provider" | "model">,
    { reasoning, fields }: Refused,
  ): FittedRequest {
    const { operation, body: bytes, dropped } = request;
    const searched = this.#shapeOf(bytes);
    if (!reasoning && fields.length === 0 && !isMarked(searched)) return request;
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

  /** The request in the provider's dialect, without what its host or model refuses. */
  #fitted(
    provider: ProviderConfig,
    model: string,
    isNamed: boolean,
    rewritten: Rewritten,
  ): FittedRequest {
    const { operation, translation } = this.#dialects.at(provider, model)!;
    if (translation !== null)
      return this.#translated({ provider, model, operation, translation }, rewritten);
    const searched = rewritten.bytes === this.#bytes ? this.#shape : rewritten.bytes;
    const steps = fitSteps(operation, { provider, model, isNamed }, searched);
    const fitted =
      steps.length > 0 && this.#mayTranslate() ? fittedBody(rewritten.bytes, steps) : null;
    if (fitted === null) return this.#untranslated(provider, model, rewritten);
    const { bytes, dropped } = fitted;
    return { ...this.#untranslated(provider, model, { ...rewritten, bytes }), dropped };
  }

  #untranslated(
    provider: ProviderConfig,
    model: string,
    { bytes, savedBytes }: Rewritten,
  ): FittedRequest {
    const askUsage = mustAskUsage(this.operation, this.#body, provider);
    if (isGoogleOperation(this.operation)) {
      const signed = signedForGoogle(bytes, bytes === this.#bytes ? this.#shape : bytes);
      const body = googleBody(signed, model, this.#body.members);
      this.#nearlyGiven = signed === this.#bytes ? body : null;
      return this.#asItIs(body, savedBytes);
    }
    // Vertex AI's compatible API has the publisher in the names of models, its own API hasn't.
    const name = this.operation === "interactions" ? model.replace(/^google\//, "") : model;
    const edits = {
      model: name === this.#body.writtenModel ? undefined : name,
      modelField: this.#body.modelField,
      includeUsage: askUsage ? (true as const) : undefined,
    };
    const body = editModelBody(bytes, edits, bytes === this.#bytes ? this.#body.members : null);
    this.#nearlyGiven = bytes === this.#bytes ? body : null;
    return this.#asItIs(body, savedBytes, askUsage);
  }

  #asItIs(body: Buffer, savedBytes: number, hideUsageChunk = false): FittedRequest {
    const { operation } = this;
    return { operation, body, savedBytes, hideUsageChunk, translator: null, dropped: [] };
  }

  #translated(target: TranslatedTarget, { bytes, savedBytes }: Rewritten): FittedRequest {
    const { operation, translation } = target;
    // A rewritten prompt may be untranslatable, for example without its last, repeated system
    // message.
    const short = savedBytes === 0 ? null : translateRequest(parseObjectExactly(bytes), target);
    const isShort = short?.ok === true;
    const translated = isShort ? short : this.#inDialect(target);
    assert(translated.ok, "a request with a problem isn't sent");
    const exchange = this.#exchange;
    const context = {
      model: this.model,
      nowSeconds: Math.floor(this.#nowMs() / 1000),
      requestId: exchange.ownId,
      provider: target.provider.name,
      streamForm: streamForm(this.operation, exchange.query),
      request: fieldsOf(translation.echoSource?.(this.#object()) ?? this.#object(), [
        "stream",
        ...translation.echoedFields,
      ]),
    };
    this.#echoed = context.request;
    const hideUsageChunk =
      this.operation === "chat_completions" && this.#body.stream && !this.#body.includeUsage;
    this.#carrying = isShort ? null : (this.#carried?.write(translated.body) ?? null);
    return {
      operation,
      body: this.#carrying?.bytes ?? Buffer.from(writeExactly(translated.body)),
      savedBytes: isShort ? savedBytes : 0,
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
      translated = translateRequest(this.#object(), target);
      // An error may quote a text.
      if (!translated.ok && this.#carried !== null)
        translated = translateRequest(parseObjectExactly(this.#bytes), target);
      this.#translations.set(name, translated);
    }
    return translated;
  }

  #object(): JsonObject {
    if (this.#parsed !== null) return this.#parsed;
    const outline = carrying.has(this.operation) ? this.#outline : null;
    this.#carried = outline === null ? null : carriedBody(outline);
    this.#parsed = this.#carried?.fields ?? parseObjectExactly(this.#bytes);
    return this.#parsed;
  }

  answered(): void {
    const { memory } = this.#exchange;
    const isLarge = this.#bytes.length >= largeBodyBytes;
    const keepsBytes = isLarge ? writeExactly(this.#echoed ?? {}).length : this.#bytes.length;
    memory.give(Math.max(0, this.#translationBytes - keepsBytes));
    this.#parsed = null;
    this.#carried = null;
    this.#translations = null;
    if (this.#sent !== null) {
      const fields = boundFields(this.#bytes, this.#body.members);
      for (const body of this.#sent) body.release(fields);
    }
    if (!isLarge) return;
    this.#promptBytes = promptBytes(this.#bytes);
    memory.give(this.#bytes.length);
    this.#bytes = Buffer.alloc(0);
    this.#shape = this.#bytes;
    this.#outline = null;
    this.#nearlyGiven = null;
    this.#carrying = null;
  }

  close(): void {}
}

/** The start of every signature that Sluice writes: "sluice_" in base64. */
const mark = "c2x1aWNlX3";
const ownSignature = new RegExp(`("thought(?:S|_s)ignature"\\s*:\\s*")${mark}[^"]*"`, "g");

/**
 * Replaces signatures that Sluice made for the thinking of other models by the value that Google
 * documents for them (ai.google.dev, "Thought signatures"). Returns the same Buffer without any.
 * Quotes in texts are escaped, so every match is a field. `shape`: as of `BodyOutline`.
 */
export function signedForGoogle(body: Buffer, shape = body): Buffer {
  if (!shape.includes(mark)) return body;
  const text = body.toString("latin1").replace(ownSignature, `$1${signatureOfOthers}"`);
  return Buffer.from(text, "latin1");
}
