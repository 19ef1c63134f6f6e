/**
 * Which targets can continue a response or a conversation that a provider keeps
 * (docs/reference/http-api.md, "Conversations that stay"): those at the provider that made it, or
 * at another one of the same account. The others would answer that there is none, whatever becomes
 * of that provider.
 */
import { isObject, parseJson } from "../../shared/checked.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Operation } from "../../shared/operation.js";
import { isObjectId } from "../../shared/wire/stored-object.js";
import type { NamedValues } from "../body/scan-json.js";
import type { Limiter } from "../limiter/limiter.js";
import { ownersOf } from "./object-access.js";

/** Whether it matters who makes what a request makes. */
export function hasSeveralProviders(targets: readonly Target[]): boolean {
  return targets.some(({ provider }) => provider !== targets[0]!.provider);
}

/** Whether requests of this operation may continue what a provider keeps. */
export function mayContinue({ operation }: { readonly operation: Operation }): boolean {
  return operation === "responses" || operation === "compact" || operation === "input_tokens";
}

/** The part of a gateway that says which account a provider has. */
type Providers = ReadonlyMap<string, { readonly config: Pick<ProviderConfig, "account"> }>;

/**
 * The targets at the account that made what the body continues. All of them, if it continues
 * nothing, if nobody is known to have made it, or nobody among them; or if the daemon is away.
 */
export async function makerOnly(
  {
    limiter,
    providers,
  }: { readonly limiter: Pick<Limiter, "call">; readonly providers: Providers },
  call: NamedValues,
  targets: readonly Target[],
): Promise<readonly Target[]> {
  if (!hasSeveralProviders(targets)) return targets;
  const ids = continuedIds(call);
  if (ids.length === 0) return targets;
  const found = await ownersOf(limiter, ids);
  if (!found.ok) return targets;
  // A provider may have been removed since.
  const accountOf = (provider: string): string =>
    providers.get(provider)?.config.account ?? provider;
  const makers = [...found.owners.values()].flat().map(({ provider }) => accountOf(provider));
  const own = targets.filter(({ provider }) => makers.includes(accountOf(provider)));
  return own.length === 0 ? targets : own;
}

/** The fields at the top of a body of the Responses API. */
function continuedIds(call: NamedValues): readonly string[] {
  return ["previous_response_id", "conversation"].flatMap((name): readonly string[] => {
    const json = call.valuesOf(name).at(-1);
    const value = json === undefined ? null : parseJson(json);
    const id: unknown = isObject(value) ? value["id"] : value;
    return isObjectId(id) ? [id] : [];
  });
}
