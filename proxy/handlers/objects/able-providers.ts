/** The providers that a request about stored objects may go to. */
import { type Failure, invalid } from "../../../shared/error-code.js";
import { isObjectId } from "../../../shared/wire/stored-object.js";
import type { Provider } from "../../gateway.js";
import { providerHeader } from "../../http/own-headers.js";
import { noSuchObject, ownersOf } from "../../objects/object-access.js";
import type { RequestContext } from "../../request-context.js";
import { clientPath } from "../../upstream/upstream-path.js";
import type { StoredOperation } from "./send-object-request.js";

type AbleProviders =
  | { readonly ok: true; readonly providers: readonly Provider[] }
  | { readonly ok: false; readonly failure: Failure };

/** The providers, or why there is none. */
export function providersFor(
  { gateway, exchange }: RequestContext<"providers">,
  operation: StoredOperation,
): AbleProviders {
  const providerName = exchange.header(providerHeader);
  if (providerName !== undefined) {
    const provider = gateway.providers.get(providerName.trim().toLowerCase());
    if (provider === undefined)
      return wrongChoice(
        `X-Sluice-Provider: no provider ${JSON.stringify(providerName.slice(0, 64))} is configured`,
      );
    return provider.config.operations.has(operation)
      ? { ok: true, providers: [provider] }
      : wrongChoice(
          `X-Sluice-Provider: provider ${provider.config.name} does not offer ${operation}`,
        );
  }
  const capable = [...gateway.providers.values()].filter(({ config }) =>
    config.operations.has(operation),
  );
  return capable.length === 0
    ? wrongChoice(`no configured provider offers ${operation}`)
    : { ok: true, providers: capable };
}

function wrongChoice(message: string): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: invalid(message) };
}

/** Narrows the providers to the one that has the caller's object. */
export async function ownProviders(
  { gateway, caller }: RequestContext<"limiter">,
  providers: readonly Provider[],
  id: string,
): Promise<AbleProviders> {
  const answer = await ownersOf(gateway.limiter, [id]);
  if (!answer.ok) return answer;
  const owners = answer.owners.get(id)!;
  const own = providers.filter(({ config }) =>
    owners.some(
      ({ provider, userPath }) => provider === config.name && userPath === caller.userPath,
    ),
  );
  return own.length === 0 ? { ok: false, failure: noSuchObject(id) } : { ok: true, providers: own };
}

/** The provider known to have the object; the first one if unknown. */
export async function providerWith(
  { gateway }: RequestContext<"limiter">,
  providers: readonly Provider[],
  id: unknown,
): Promise<Provider> {
  const [first] = providers as readonly [Provider];
  if (providers.length === 1 || !isObjectId(id)) return first;
  const answer = await ownersOf(gateway.limiter, [id]);
  const owners = answer.ok ? answer.owners.get(id)! : [];
  const having = providers.find(({ config }) =>
    owners.some(({ provider }) => provider === config.name),
  );
  return having ?? first;
}

/** Null without an object id in the path. */
export function idInPath(path: string, operation: StoredOperation): string | null {
  const base = clientPath(operation);
  return path === base ? null : path.slice(base.length + 1).split("/", 1)[0]!;
}
