/**
 * The values of `anthropic-beta` that a provider refuses: other hosts of Anthropic's models know
 * fewer betas, and Anthropic's agents send all of theirs.
 *
 * Sources of the wordings: anthropics/claude-code#34802, QuantumNous/new-api#2975 and
 * Wei-Shaw/sub2api#3358 (Vertex AI), anthropics/claude-code#49370 (Bedrock).
 */

const header = "anthropic-beta";
const unexpected = "unexpected value(s)";

/**
 * The refused betas as the path of a `RefusedPart`: the header's name, with the values that the
 * message names, if any. Null if the message is about something else.
 */
export function refusedBetas(message: string): string | null {
  const text = message.toLowerCase();
  if (text.includes("invalid beta flag")) return header;
  const start = text.indexOf(unexpected);
  const end = text.indexOf(header, start);
  if (start === -1 || end === -1) return null;
  const values = text.slice(start + unexpected.length, end).match(/[\w.-]{1,100}/g) ?? [];
  // All betas have a date; the other words of the sentence have no hyphen.
  return [`${header}:`, ...values.filter((value) => value.includes("-"))].join(" ");
}

/** Whether a path was made by `refusedBetas`. */
export function isOfBetas(path: string): boolean {
  return path.startsWith(header);
}

interface KeptBetas {
  readonly headers: readonly string[];
  readonly dropped: readonly string[];
}

/** The headers without the betas that `paths` name. `headers`: names and values in turn. */
export function withoutBetas(headers: readonly string[], paths: readonly string[]): KeptBetas {
  const refused = paths.filter(isOfBetas).flatMap((path) => path.split(" "));
  if (refused.length === 0) return { headers, dropped: [] };
  const keptBetas: string[] = [];
  const dropped: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (name.toLowerCase() !== header) {
      keptBetas.push(name, value);
      continue;
    }
    const accepted = value.split(",").filter((beta) => {
      const isRefused = refused.includes(header) || refused.includes(beta.trim().toLowerCase());
      if (isRefused) dropped.push(`${header} ${beta.trim()}`);
      return !isRefused;
    });
    if (accepted.length > 0) keptBetas.push(name, accepted.join(","));
  }
  return { headers: keptBetas, dropped };
}
