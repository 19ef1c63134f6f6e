/** A JSON text with escapes for all characters beyond ASCII, as many clients write it. */
export function inAscii(json: string): string {
  return json.replace(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
