/** Compares header names in byte form. */

/**
 * Whether a name begins with another one, which is in lower case, ignoring case: setting 0x20
 * lower-cases a letter and keeps digits and the hyphen.
 */
export function beginsWith(name: Buffer, known: Buffer): boolean {
  for (let i = 0; i < known.length; i++) if ((name[i]! | 0x20) !== known[i]) return false;
  return true;
}
