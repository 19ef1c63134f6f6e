/**
 * Translates a client's request for one target: into the dialect of the provider, then for the host
 * and the model.
 */
import type { ProviderConfig } from "../../shared/config/config.js";
import type { Operation } from "../../shared/operation.js";
import { countedByGoogle, countedFields } from "./count-translations.js";
import { placeBreakpoints } from "./fit/cache-breakpoints.js";
import { fitChatRequest } from "./fit/fit-chat-request.js";
import { isOtherModel } from "./fit/fit-messages.js";
import { fitMessagesRequest } from "./fit/fit-messages-request.js";
import { fitResponsesRequest } from "./fit/fit-responses-request.js";
import { chatTraitsOf, messagesTraitsOf } from "./fit/target-traits.js";
import { RequestCheck } from "./shared/request-check.js";
import type { JsonObject, TranslatedRequest, Translation } from "./shared/translation.js";

/** A target whose provider speaks another dialect than the client. */
export interface TranslatedTarget {
  readonly provider: ProviderConfig;
  /** The model's name at the provider. */
  readonly model: string;
  /** The operation with which the provider is called. */
  readonly operation: Operation;
  readonly translation: Translation;
}

const fetching: ReadonlySet<Operation> = new Set<Operation>([
  "messages",
  "count_tokens",
  "responses",
  "input_tokens",
]);

export function translateRequest(body: JsonObject, target: TranslatedTarget): TranslatedRequest {
  const { provider, translation } = target;
  const isStrict = provider.translation === "strict";
  const translated = translation.request(body, {
    maxTokensDefault: provider.maxTokensDefault,
    isStrict,
    takesCustomTools: provider.chat.takesCustomTools,
    provider: provider.name,
    takesFilesInResults: target.operation === "responses" || target.operation === "input_tokens",
    takesUnsignedThinking: isOtherModel(target),
    takesFileUrls: fetching.has(target.operation),
  });
  if (!translated.ok) return translated;
  const check = new RequestCheck(isStrict);
  const fitted = check.result(fit(translated.body, target, check));
  if (!fitted.ok) return fitted;
  const dropped = [...new Set([...translated.dropped, ...fitted.dropped])];
  return { ok: true, body: fitted.body, dropped };
}

function fit(body: JsonObject, target: TranslatedTarget, check: RequestCheck): JsonObject {
  const { operation, provider, model } = target;
  switch (operation) {
    case "chat_completions":
      return fitChatRequest(
        body,
        {
          chat: provider.chat,
          traits: chatTraitsOf(provider, model),
          model,
          provider: provider.name,
        },
        check,
      );
    case "messages": {
      const traits = messagesTraitsOf(provider, model);
      const fitted = fitMessagesRequest(body, model, traits, check);
      placeBreakpoints(fitted, provider.cache, check);
      return fitted;
    }
    case "responses":
      return fitResponsesRequest(body, model, chatTraitsOf(provider, model), check);
    case "input_tokens": {
      const fitted = fitResponsesRequest(body, model, chatTraitsOf(provider, model), check);
      return countedFields(operation, fitted);
    }
    case "count_tokens": {
      const traits = messagesTraitsOf(provider, model);
      return countedFields(operation, fitMessagesRequest(body, model, traits, check));
    }
    case "count_content_tokens":
      return countedByGoogle(body, model);
    default:
      return { ...body, model };
  }
}
