/**
 * Replaces a provider's addresses in its answers with Sluice's: a client that follows one sends its
 * own credential there, as the official SDKs do with `results_url` and upload addresses.
 *
 * An address at another host, such as a picture on a CDN, is followed without a credential and
 * stays (docs/security.md), except in a redirect, on which some clients send their key along. The
 * address of a Google file (`uri`) only names the file in later requests, so it stays as well.
 */
import { cacheByText } from "../../shared/text/remembered.js";
import { passedQuery } from "./passthrough-path.js";

export interface ProviderLinks {
  /** The provider's base URL. */
  readonly baseUrl: string;
  /** Where clients find the provider's origin: `https://gateway.example/p/openai`. */
  readonly place: () => string;
}

/**
 * Headers whose addresses are always in the provider's API, even if a relay puts another host
 * there.
 */
const apiHeaders: ReadonlySet<string> = new Set([
  "x-goog-upload-url",
  "x-goog-upload-control-url",
  "operation-location",
  "azure-asyncoperation",
]);
/** Headers that may refer to any host. */
const anyHeaders: ReadonlySet<string> = new Set(["location", "content-location", "link"]);

/**
 * The headers of an answer that contain addresses, rewritten. Headers with addresses at other hosts
 * are left out. Null for a redirect to another host.
 */
export function relinkedHeaders(
  links: ProviderLinks,
  status: number,
  rawHeaders: readonly (Buffer | string)[],
): string[] | null {
  const pieces: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = nameIfLinked(rawHeaders[i]!.toString());
    if (name === "") continue;
    const value = rawHeaders[i + 1]!.toString();
    const rewritten =
      name === "link" ? relinkedList(links, value) : ownAddress(links, value, apiHeaders.has(name));
    if (rewritten !== null) pieces.push(name, rewritten);
    else if (name === "location" && status >= 300 && status < 400) return null;
  }
  return pieces;
}

/** In lower case; empty for a header that holds no address. Most answers have the same names. */
const nameIfLinked = cacheByText((raw) => {
  const name = raw.toLowerCase();
  return apiHeaders.has(name) || anyHeaders.has(name) ? name : "";
});

/** A header such as `<https://…>; rel="next", <…>`. */
function relinkedList(links: ProviderLinks, value: string): string | null {
  const parts = value.split(/,(?=\s*<)/).flatMap((part) => {
    const match = /^\s*<([^<>]*)>(.*)$/.exec(part);
    const rewritten = match === null ? null : ownAddress(links, match[1]!, false);
    return rewritten === null ? [] : [`<${rewritten}>${match![2]!}`];
  });
  return parts.length === 0 ? null : parts.join(", ");
}

/** Null if the address is at another host. `ofAnyHost`: whether to ignore the host. */
function ownAddress({ baseUrl, place }: ProviderLinks, text: string, ofAnyHost: boolean) {
  if (!URL.canParse(text.trim(), baseUrl)) return null;
  const url = new URL(text.trim(), baseUrl);
  if (!/^https?:$/.test(url.protocol) || (!ofAnyHost && url.host !== new URL(baseUrl).host))
    return null;
  return place() + url.pathname + passedQuery(url.search.slice(1), null);
}

/**
 * Rewrites the strings of a JSON text that are addresses at the provider, in all of its members,
 * and the `results_url` of a batch at any host. The text may be in Latin-1.
 */
export function relinkedJson(links: ProviderLinks, text: string): string {
  const { host } = new URL(links.baseUrl);
  if (!text.includes(host) && !text.includes('"results_url"')) return text;
  return text.replace(addressInJson, (whole, name: string | undefined, raw: string) => {
    const address = raw.replaceAll("\\/", "/");
    const isName = name !== undefined && fileNames.test(name) && !address.includes(":download");
    const rewritten = isName ? null : ownAddress(links, address, name === "results_url");
    return rewritten === null ? whole : `${whole.slice(0, -raw.length - 1)}${jsonText(rewritten)}"`;
  });
}

/** Matches a string that is an address as a whole, and the name of its member, if it has one. */
const addressInJson =
  /(?:"([A-Za-z_]{1,64})"\s{0,64}:\s{0,64})?"(https?:(?:\\?\/){2}(?:[\x21\x23-\x5b\x5d-\x7e]|\\\/){1,4096})"/g;
const fileNames = /^(?:uri|fileUri|file_uri)$/;

function jsonText(address: string): string {
  return JSON.stringify(address).slice(1, -1);
}

/**
 * The JSON of message batches, with their results at Sluice's own endpoint below `origin`. A batch
 * with an unreadable address gets none.
 */
export function relinkedBatches(origin: string, text: string): string {
  return text.replace(
    /"results_url"\s{0,64}:\s{0,64}"((?:[^"\\]|\\.){0,4096})"/g,
    (_, raw: string) => {
      const id = /\/messages\/batches\/([\w-]{1,256})\/results(?:\?|$)/.exec(
        raw.replaceAll("\\/", "/"),
      )?.[1];
      const resultsUrl = id === undefined ? null : `${origin}/v1/messages/batches/${id}/results`;
      return `"results_url":${JSON.stringify(resultsUrl)}`;
    },
  );
}
