/**
 * What a provider's model accepts: the traits that the operator configures, or those of its family
 * and its host.
 */
import type { ProviderConfig } from "../../../shared/config/config.js";
import type { OwnModelTraits } from "../../../shared/config/model-traits.js";
import {
  type ChatModelTraits,
  chatModelTraits,
  type MessagesModelTraits,
  messagesModelTraits,
} from "./model-families.js";

/** The parts of a provider's configuration that determine what its models accept. */
type ModelHost = Pick<ProviderConfig, "chat" | "modelTraits">;

/** Clients choose the names, so there may be any number of them. */
const modelsRemembered = 1000;

/** Remembers what `find` returned for a model of a host: its patterns take several microseconds. */
function rememberByModel<H extends object, T>(
  find: (host: H, model: string) => T,
): (host: H, model: string) => T {
  const modelsByHost = new WeakMap<H, Map<string, T>>();
  return (host, model) => {
    let byModel = modelsByHost.get(host);
    if (byModel === undefined) {
      byModel = new Map();
      modelsByHost.set(host, byModel);
    }
    let traits = byModel.get(model);
    if (traits !== undefined) return traits;
    traits = find(host, model);
    if (byModel.size >= modelsRemembered) byModel.clear();
    byModel.set(model, traits);
    return traits;
  };
}

/** The traits to which the requests of every dialect are fitted. */
interface AnyModelTraits {
  readonly takesImages: boolean;
  readonly takesForcedCalls: boolean;
}

export interface ChatTargetTraits extends ChatModelTraits, AnyModelTraits {
  /** The host's, as in `ChatTraits`. */
  readonly reasoningWithTools: ModelHost["chat"]["reasoningWithTools"];
  readonly takesOutputSchema: boolean;
}

const chatTraits = rememberByModel(findChatTraits);

export function chatTraitsOf(host: ModelHost, model: string): ChatTargetTraits {
  return chatTraits(host, model);
}

function findChatTraits({ chat, modelTraits }: ModelHost, model: string): ChatTargetTraits {
  const { reasoningWithTools, takesOutputSchema } = chat;
  const configured = ownTraits(modelTraits, model);
  const family = chatModelTraits(configured?.like ?? model);
  if (configured === null)
    return { ...family, reasoningWithTools, takesOutputSchema, takesImages: true };
  return {
    outputTokensMax: configured.outputTokensMax ?? family.outputTokensMax,
    efforts: configured.efforts ?? family.efforts,
    takesMaxInResponses: configured.efforts === null && family.takesMaxInResponses,
    sampling: configured.sampling ?? family.sampling,
    takesForcedCalls: configured.takesForcedCalls ?? family.takesForcedCalls,
    takesTokenControl: family.takesTokenControl,
    reasonsByDefault: family.reasonsByDefault,
    takesVerbosity: family.takesVerbosity,
    takesImages: configured.takesImages ?? true,
    takesOutputSchema: configured.takesOutputSchema ?? takesOutputSchema,
    ...withTools(configured.reasoningWithTools, family, reasoningWithTools),
  };
}

function withTools(
  configured: OwnModelTraits["reasoningWithTools"],
  { onlyInResponses }: ChatModelTraits,
  reasoningWithTools: ChatTargetTraits["reasoningWithTools"],
): Pick<ChatTargetTraits, "onlyInResponses" | "reasoningWithTools"> {
  switch (configured) {
    case "chat":
      return { onlyInResponses: "nothing", reasoningWithTools };
    case "responses":
      return {
        onlyInResponses: onlyInResponses === "nothing" ? "reasoning_with_tools" : onlyInResponses,
        reasoningWithTools: "in_responses",
      };
    case "none":
      return { onlyInResponses: "reasoning_with_tools", reasoningWithTools: "refused" };
    default:
      return { onlyInResponses, reasoningWithTools };
  }
}

export type MessagesTargetTraits = MessagesModelTraits & AnyModelTraits;

/** The traits of another maker's model behind Anthropic's dialect. */
const unknownModel: MessagesModelTraits = {
  outputTokensMax: null,
  thinking: "both",
  thinkingOff: "left_out",
  takesForcedCalls: true,
  efforts: ["low", "medium", "high", "xhigh", "max"],
  sampling: "all",
  takesOutputSchema: true,
  takesPrefill: true,
  takesSystemTurns: true,
};

const messagesTraits = rememberByModel(findMessagesTraits);

/** Null for another maker's model for which the operator configures nothing. */
export function messagesTraitsOf(
  host: Pick<ModelHost, "modelTraits">,
  model: string,
): MessagesTargetTraits | null {
  return messagesTraits(host, model);
}

function findMessagesTraits(
  { modelTraits }: Pick<ModelHost, "modelTraits">,
  model: string,
): MessagesTargetTraits | null {
  const configured = ownTraits(modelTraits, model);
  const builtIn = messagesModelTraits(configured?.like ?? model);
  if (configured === null) return builtIn === null ? null : { ...builtIn, takesImages: true };
  const family = builtIn ?? unknownModel;
  return {
    outputTokensMax: configured.outputTokensMax ?? family.outputTokensMax,
    efforts: configured.efforts ?? family.efforts,
    sampling: configured.sampling ?? family.sampling,
    thinking: configured.thinking ?? family.thinking,
    thinkingOff: configured.thinking === null ? family.thinkingOff : offFor(configured.thinking),
    takesOutputSchema: configured.takesOutputSchema ?? family.takesOutputSchema,
    takesPrefill: family.takesPrefill,
    takesSystemTurns: family.takesSystemTurns,
    takesImages: configured.takesImages ?? true,
    takesForcedCalls: configured.takesForcedCalls ?? family.takesForcedCalls,
  };
}

function offFor(thinking: MessagesModelTraits["thinking"]): MessagesModelTraits["thinkingOff"] {
  return thinking === "budget" ? "disabled" : "left_out";
}

/** The most output that a model gives in one response; null if it is unknown. */
export function outputTokensMaxOf(host: ModelHost, model: string): number | null {
  const { outputTokensMax } = messagesTraitsOf(host, model) ?? chatTraitsOf(host, model);
  return outputTokensMax;
}

/** The name that determines a model's family: its own, or the one that the operator configures. */
export function namedLike({ modelTraits }: Pick<ModelHost, "modelTraits">, model: string): string {
  return ownTraits(modelTraits, model)?.like ?? model;
}

/** The first entry that names the model. */
function ownTraits(entries: readonly OwnModelTraits[], model: string): OwnModelTraits | null {
  if (entries.length === 0) return null;
  const name = model.toLowerCase();
  return entries.find(({ models }) => models.some((pattern) => namesModel(pattern, name))) ?? null;
}

/** Whether a name matches a pattern, in which `*` matches any characters. Takes linear time. */
export function namesModel(pattern: string, name: string): boolean {
  const [first = "", ...furtherParts] = pattern.split("*");
  const last = furtherParts.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first)) return false;
  let position = first.length;
  for (const piece of furtherParts) {
    const index = name.indexOf(piece, position);
    if (index === -1) return false;
    position = index + piece.length;
  }
  return name.length - last.length >= position && name.endsWith(last);
}
