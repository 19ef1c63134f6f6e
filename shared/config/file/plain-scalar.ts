/** The value of a YAML text without quotes, by the core schema of YAML 1.2. */

/** Null, a boolean, a number, or the text itself. */
export function plainScalar(text: string): unknown {
  const first = text.charCodeAt(0);
  // Most texts begin with a letter or a slash: they skip the expressions below.
  const isNumeric = (first >= 48 && first <= 57) || first === 43 || first === 45 || first === 46;
  if (isNumeric) {
    if (
      /^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+)$/.test(
        text,
      )
    )
      return Number(text);
    if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text)) return first === 45 ? -Infinity : Infinity;
    return /^\.(?:nan|NaN|NAN)$/.test(text) ? NaN : text;
  }
  switch (text) {
    case "":
    case "~":
    case "null":
    case "Null":
    case "NULL":
      return null;
    case "true":
    case "True":
    case "TRUE":
      return true;
    case "false":
    case "False":
    case "FALSE":
      return false;
    default:
      return text;
  }
}
