/**
 * Reads a header that is a value with parameters, such as `form-data; name="model"`, as strictly as
 * the grammar says (RFC 9110 section 5.6.6): what two servers might read in two ways is no header.
 */

/** Names in lower case, in the order in which they come; a name may come more than once. */
export type HeaderParameters = readonly (readonly [name: string, value: string])[];

/** With an unquoted value, or a quoted one whose escapes stay as they are. */
const parameter =
  /[ \t]*;[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)=(?:"((?:[^"\\\r\n]|\\[^\r\n])*)"|([^\s;",]+))/y;

/** Null when the header has another value, or parameters that can't be read for sure. */
export function parametersOf(header: string, value: string): HeaderParameters | null {
  const text = header.trim();
  if (text.slice(0, value.length).toLowerCase() !== value) return null;
  const parameters: (readonly [string, string])[] = [];
  let at = value.length;
  while (at < text.length) {
    parameter.lastIndex = at;
    const found = parameter.exec(text);
    if (found === null) return /^[ \t]*;$/.test(text.slice(at)) ? parameters : null;
    parameters.push([found[1]!.toLowerCase(), found[2] ?? found[3]!]);
    at = parameter.lastIndex;
  }
  return parameters;
}

/** How a body is compressed, by its Content-Encoding; empty: not at all. */
export function contentCoding(header: string | undefined): string {
  if (header === undefined) return "";
  return header
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity")
    .join(",");
}

/** The values of a parameter, whether it is written `name=` or, as RFC 5987 has it, `name*=`. */
export function valuesOf(parameters: HeaderParameters, name: string): readonly string[] {
  return parameters
    .filter(([key]) => key === name || key.startsWith(`${name}*`))
    .map(([, value]) => value);
}
