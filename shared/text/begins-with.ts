/** Names of headers that are still bytes. */

/**
 * Whether a name begins with another one, which is in lower case, in whatever case: 0x20 makes a
 * small letter of a capital one, and leaves digits and the hyphen.
 */
export function beginsWith(name: Buffer, known: Buffer): boolean {
  for (let i = 0; i < known.length; i++) if ((name[i]! | 0x20) !== known[i]) return false;
  return true;
}
