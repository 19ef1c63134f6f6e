/**
 * Forwards a call whose answer its provider stores, such as a response or a conversation, and
 * records its owner, who alone may read it later.
 */
import { mayRunInBackground, type Operation } from "../../../shared/operation.js";
import type { NamedValues } from "../../body/scan-json.js";
import type { Gateway } from "../../gateway.js";
import type { Exchange } from "../../http/exchange.js";
import { watchedUpstream } from "../../objects/answer-watch.js";
import { unfinishedId } from "../../objects/background-responses.js";
import {
  type CreatedObjects,
  hasSeveralProviders,
  hasThread,
  rememberOwner,
  remembersOwners,
} from "../../objects/object-access.js";
import { madeIds } from "../../objects/object-ids.js";
import type { Route } from "../../routing/resolve-model.js";
import { forward } from "../../upstream/forward.js";
import type { ForwardRequest, ForwardResult } from "../../upstream/forwarded.js";

interface Call extends NamedValues {
  readonly operation: Operation;
}

/** Whether the answer to a call is stored, and its owner matters. */
export function isRemembered(gateway: Gateway, call: Call, { targets }: Route): boolean {
  if (!mayStore(call)) return false;
  if (isBackgroundCall(call)) return true;
  return (remembersOwners(gateway) || hasSeveralProviders(targets)) && isStoredCall(call);
}

interface Remembering {
  readonly forwarding: ForwardRequest;
  readonly created: Omit<CreatedObjects, "ids">;
}

/** Records the owner of stored objects before the client learns their ids. */
export async function forwardAndRemember(
  gateway: Gateway,
  exchange: Exchange,
  call: Call,
  { forwarding, created }: Remembering,
): Promise<ForwardResult> {
  const isBackground = isBackgroundCall(call);
  let remembered: Promise<void> | null = null;
  let responseId = "";
  const upstream = watchedUpstream(forwarding.upstream, (answer) => {
    if (mayRunInBackground(created.operation)) responseId = unfinishedId(answer);
    remembered = rememberOwner(gateway, { ...created, ids: madeIds(created.operation, answer) });
  });
  const forwarded = await forward(exchange, { ...forwarding, upstream });
  await remembered;
  // The provider continues a background response after its stream was cut.
  return isBackground && forwarded.estimated && responseId !== ""
    ? { ...forwarded, responseId }
    : forwarded;
}

/** Whether a provider may store the answer to a call of this operation. */
function mayStore({ operation }: Call): boolean {
  return operation === "messages" || mayRunInBackground(operation);
}

/** Whether the provider stores the answer: OpenAI and Google by default, Anthropic in a thread. */
function isStoredCall(call: Call): boolean {
  if (call.operation === "messages") return hasThread(call);
  // A repeated field may be read either way; an owner too many does no harm.
  const stores = call.valuesOf("store");
  return stores.length === 0 || stores.some((value) => value !== "false");
}

/** Whether the provider continues after the client disconnects. */
function isBackgroundCall(call: Call): boolean {
  return (
    mayRunInBackground(call.operation) &&
    call.valuesOf("background").some((value) => value === "true")
  );
}
