/** By which name a provider knows a request. Pure. */
import { requestIdCharsMax } from "../../../shared/bounds.js";
import { beginsWith } from "../../../shared/text/begins-with.js";

/** OpenAI's and most others', Anthropic's, Azure's, Amazon's: each of another length. */
const providerNames: readonly (Buffer | undefined)[] = [
  "x-request-id",
  "request-id",
  "apim-request-id",
  "x-amzn-requestid",
].reduce<(Buffer | undefined)[]>((byLength, name) => {
  byLength[name.length] = Buffer.from(name);
  return byLength;
}, []);

/** What a provider calls a request, by which it can be asked about it; empty if it doesn't say. */
export function providerRequestId(rawHeaders: readonly (Buffer | string)[]): string {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    const known = providerNames[name.length];
    if (known !== undefined && isNamed(name, known))
      return asText(rawHeaders[i + 1]!).slice(0, requestIdCharsMax);
  }
  return "";
}

/** One that is still bytes is compared as bytes: many have the length of one of these names. */
function isNamed(name: Buffer | string, known: Buffer): boolean {
  return beginsWith(typeof name === "string" ? Buffer.from(name, "latin1") : name, known);
}

function asText(value: Buffer | string): string {
  return typeof value === "string" ? value : value.toString("latin1");
}
